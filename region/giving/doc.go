// Package giving decides which of its rights of a quota a region gives to
// another, before or when that one is short of them.
//
// Nothing here can break a bound. A gift is a wish: the store gives no more than
// the region has beyond what must remain, and nobody receives what was not given
// up first (package quota). A bad policy lets quotas be denied while units are
// left, or moves them to and fro, and no more than that.
//
// One node of each region asks its [Policy] about a row whenever the row
// changed, and again after each gift that moved units: a policy names one gift
// at a time, so that the next is decided knowing the last. Nothing need be asked
// about a row that does not change: who is in want says so again within a second,
// and who spends changes the row with every unit.
//
// What [HalfSurplus] costs was simulated: 2 to 10 regions, news every 100 ms that
// takes 100 to 300 ms, Q = 100 000, 1 000 and 5 000 units a second in one region,
// in three as 80/10/10, or even. Nothing is stranded without overshoot, and up to
// about 2 % of calls are denied for rights, all near the end of the quota. With
// 1 % overshoot nothing is denied early. A run takes 10 to 70 gifts among three
// regions, 330 among ten.
//
// Nothing here reads a clock; instants are readings of one monotonic clock that
// the caller passes in.
package giving
