package eventlog

import (
	"fmt"
	"slices"
	"strings"

	"speedmatrix/internal/event"
)

// SchemaError says that a file has a schema version that this program does not know.
type SchemaError struct {
	Schema int // the file's
}

func (e *SchemaError) Error() string {
	if e.Schema > event.Schema {
		return fmt.Sprintf("schema %d was made by a newer speedmatrix: this one reads up to %d, update it", e.Schema, event.Schema)
	}
	return fmt.Sprintf("schema %d does not exist: 1 to %d do", e.Schema, event.Schema)
}

// column is one column of a file: its name and its type as in the table of docs/format.md, "int64?" being nullable.
type column struct{ name, typ string }

func (c column) String() string { return c.name + " " + c.typ }

// columnsV1 returns the columns of each kind of file in schema 1. They must stay as they are for ever.
func columnsV1(k Kind) []column {
	switch k {
	case KindRequests:
		return parseColumns(`cell int32; repeat int32; stream int32; ordinal int32; stage string; scheduled_us int64?;
			start_us int64; connect_us int64?; headers_us int64?; visible_us int64?; chunk_us list<int64>;
			chunk_tokens list<int32>; end_us int64?; clock string; asked_tokens int32; prompt_sha string;
			prompt_tokens int32?; cached_tokens int32?; output_tokens int32?; token_source string;
			finish_reason string?; http_status int32?; error string?; looped bool; void bool; outcome string`)
	default:
		return parseColumns(`at_us int64; cell int32; repeat int32; source string; metric string; labels string; value double`)
	}
}

func parseColumns(s string) []column {
	var cols []column
	for part := range strings.SplitSeq(s, ";") {
		f := strings.Fields(part)
		cols = append(cols, column{f[0], f[1]})
	}
	return cols
}

// columns flattens the schema's tree. A column of a form that no version has gets a type that equals none.
func (f *footer) columns() []column {
	var cols []column
	for rest := f.schema[min(1, len(f.schema)):]; len(rest) > 0; {
		e := rest[0]
		if l, ok := listElement(rest); ok {
			cols = append(cols, column{e.name, "list<" + scalar(l) + ">"})
			rest = rest[3:]
			continue
		}
		typ := scalar(e)
		if e.repetition == repOptional {
			typ += "?"
		}
		cols = append(cols, column{e.name, typ})
		rest = rest[1:]
	}
	return cols
}

// listElement recognises the three-level LIST whose list and elements are never null.
func listElement(s []element) (element, bool) {
	if len(s) < 3 {
		return element{}, false
	}
	outer, middle, inner := s[0], s[1], s[2]
	ok := outer.physical < 0 && outer.children == 1 && outer.logical == logicalList && outer.repetition == repRequired &&
		middle.physical < 0 && middle.children == 1 && middle.repetition == repRepeated &&
		inner.physical >= 0 && inner.repetition == repRequired
	return inner, ok
}

func scalar(e element) string {
	if e.repetition == repRepeated {
		return "repeated"
	}
	type form struct{ physical, logical, bits int }
	switch (form{e.physical, e.logical, e.bits}) {
	case form{physInt32, logicalInteger, 32}, form{physInt32, 0, 0}:
		return "int32"
	case form{physInt64, logicalInteger, 64}, form{physInt64, 0, 0}:
		return "int64"
	case form{physBytes, logicalString, 0}:
		return "string"
	case form{physBool, 0, 0}:
		return "bool"
	case form{physDouble, 0, 0}:
		return "double"
	}
	if e.physical < 0 {
		return "group"
	}
	return fmt.Sprintf("parquet(type=%d,logical=%d)", e.physical, e.logical)
}

// checkColumns refuses a file whose columns are not those of its kind, naming the first that differs.
func (f *footer) checkColumns(want []column) error {
	have := f.columns()
	for i, w := range want {
		switch {
		case i < len(have) && have[i] == w:
		case i < len(have) && have[i].name == w.name:
			return fmt.Errorf("column %q has the type %s: schema 1 wants %s", w.name, have[i].typ, w.typ)
		case !slices.ContainsFunc(have, func(c column) bool { return c.name == w.name }):
			return fmt.Errorf("column %q is missing", w.name)
		default:
			return fmt.Errorf("column %d is %q: schema 1 wants %q there", i, have[i].name, w.name)
		}
	}
	if len(have) > len(want) {
		return fmt.Errorf("column %q is not one of schema 1", have[len(want)].name)
	}
	return nil
}

// kind tells which file this is, by its first column; "" when it is neither.
func (f *footer) kind() Kind {
	cols := f.columns()
	for _, k := range []Kind{KindRequests, KindSamples} {
		if len(cols) > 0 && cols[0].name == columnsV1(k)[0].name {
			return k
		}
	}
	return ""
}
