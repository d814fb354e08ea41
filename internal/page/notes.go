package page

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML is markup made by this package from Markdown, without anything that its author could have written as HTML.
type HTML string

// maxNotes bounds notes.md, in bytes.
const maxNotes = 64 << 10

// renderNotes renders contributed Markdown. Raw HTML is left out; an image becomes a link to it; a link that is
// not http, https or mailto becomes plain text; all links bear rel=nofollow; headings start below the page's own.
func renderNotes(source string) HTML {
	source = strings.ToValidUTF8(source, "\ufffd")
	if len(source) > maxNotes {
		source = strings.ToValidUTF8(source[:maxNotes], "") + "\n\n(cut here: the notes are longer than 64 KiB)\n"
	}
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = cleanLine(l)
	}
	return markdown(strings.Join(lines, "\n"), notesTransformer{})
}

// cleanLine is Clean for a line of Markdown, whose tabs have a meaning.
func cleanLine(l string) string {
	parts := strings.Split(l, "\t")
	for i, p := range parts {
		parts[i] = Clean(p)
	}
	return strings.Join(parts, "\t")
}

// renderOwn renders Markdown from templates/, which may link inside the site and give headings anchors.
func renderOwn(source string) HTML {
	return markdown(source, nil, parser.WithAutoHeadingID(), parser.WithAttribute())
}

func markdown(source string, t parser.ASTTransformer, opts ...parser.Option) HTML {
	if t != nil {
		opts = append(opts, parser.WithASTTransformers(util.Prioritized(t, 1000)))
	}
	// Alignment of table cells would be an inline style, which the policy of the pages forbids.
	tables := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))
	md := goldmark.New(
		goldmark.WithExtensions(tables, extension.Strikethrough, extension.Linkify),
		goldmark.WithParserOptions(opts...),
		goldmark.WithRendererOptions(html.WithXHTML()),
	)
	var b bytes.Buffer
	if err := md.Convert([]byte(source), &b); err != nil {
		return "" // bytes.Buffer does not fail
	}
	return HTML(b.String())
}

// notesTransformer applies the rules of renderNotes to the parsed document.
type notesTransformer struct{}

func (notesTransformer) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var images []*ast.Image
	var links []ast.Node
	var raws []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(6, n.Level+2)
		case *ast.Image:
			images = append(images, n)
		case *ast.Link, *ast.AutoLink:
			links = append(links, n)
		case *ast.HTMLBlock, *ast.RawHTML:
			raws = append(raws, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range raws {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	for _, n := range images {
		link := ast.NewLink()
		link.Destination, link.Title = n.Destination, n.Title
		moveChildren(link, n)
		if !link.HasChildren() {
			link.AppendChild(link, ast.NewString([]byte("image")))
		}
		n.Parent().ReplaceChild(n.Parent(), n, link)
		if insideLink(link) {
			unwrap(link)
			continue
		}
		links = append(links, link)
	}
	for _, n := range links {
		limitLink(n, reader.Source())
	}
}

// limitLink marks an allowed link, and turns any other into its text.
func limitLink(n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Link:
		if !allowedTarget(string(n.Destination)) {
			unwrap(n)
			return
		}
		n.SetAttributeString("rel", []byte("nofollow noopener"))
	case *ast.AutoLink:
		if n.AutoLinkType == ast.AutoLinkURL && !allowedTarget(string(n.URL(source))) {
			n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(n.Label(source)))
			return
		}
		n.SetAttributeString("rel", []byte("nofollow noopener"))
	}
}

// allowedTarget reports whether contributed text may link there: never into this site, whose addresses are ours.
func allowedTarget(dest string) bool {
	return httpURL(dest) != "" || strings.HasPrefix(strings.ToLower(dest), "mailto:")
}

func insideLink(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if _, ok := p.(*ast.Link); ok {
			return true
		}
	}
	return false
}

// unwrap puts a node's children in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		n.RemoveChild(n, c)
		parent.InsertBefore(parent, n, c)
		c = next
	}
	parent.RemoveChild(parent, n)
}

func moveChildren(to, from ast.Node) {
	for c := from.FirstChild(); c != nil; {
		next := c.NextSibling()
		from.RemoveChild(from, c)
		to.AppendChild(to, c)
		c = next
	}
}
