// Package site tests the site of many runs as its readers and contributors meet it: how long it takes to build, that what it
// publishes can be read by other programs, and that a run goes all the way from a server to a page.
package site
