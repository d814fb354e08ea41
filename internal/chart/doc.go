// Package chart is the one wrapper around go-echarts: it turns a Figure (what is drawn, in our own words) into the
// JSON options of ECharts.
//
//  1. A caller fills a Figure: axes with units and direction, series of points, a marked window.
//  2. Options checks it (an id, finite numbers) and encodes it. Missing numbers are null, which breaks a line.
//  3. The page carries the JSON in <script type="application/json">; its own script draws it when it comes into view.
//
// What go-echarts would add by itself is kept out: a random chart id, the address of a CDN, colours (the page's
// script takes them from the style sheet, light or dark), functions. Options are deterministic: keys are sorted, and "<" is
// written as an escape so that no text can close the script element. HTML tooltips need inline styles; ours are rich text.
package chart
