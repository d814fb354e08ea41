// Package compare puts two runs side by side and says, cell by cell, whether one is faster than the other.
//
//  1. Of takes from a summary what a comparison needs: facts as text, the method, and a few numbers of each cell.
//  2. Runs lists the facts that differ, and the reasons why the two must not be divided by each other (another method, prompts,
//     start, answer length, way of counting tokens, or one of them simulated).
//  3. Where there is no such reason each cell gets the ratio of its rates, the interval of that ratio and a verdict.
//
// A verdict of faster or slower needs three or more repeats on each side, whose interval then decides, or a difference beyond
// 10 %: runs of one configuration have been reported to differ by 8 to 11 %. Everything is symmetric: with the runs exchanged,
// ratios are inverted and faster becomes slower.
//
// The package is pure: it reads no file and no clock, and formats nothing but facts.
package compare
