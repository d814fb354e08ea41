// Package site turns page models into the files of a static site.
//
//  1. New reads templates, styles and scripts (the overrides first), gives assets their content-hashed names, and makes a
//     folder beside the output.
//  2. Run, Home, Methodology and NotFound render models into it. They may be called from several goroutines.
//  3. Finish writes the sitemap, checks that every internal link, script, image and anchor of every page resolves, and puts
//     the new folder in the place of the old one, in one step where the system can (swap.go). Until then the old site is untouched;
//     Abort drops the new one, and the next New what a killed build left (beside.go).
//
// Only a folder that is empty, that bears the marker of an earlier build, or that holds nothing but README.md and .gitignore is ever
// replaced; these two files are carried over. The content of the output depends on the models and templates alone: no
// clock, no environment, no order of goroutines.
package site
