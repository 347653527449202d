// Package ledger joins the engine's quotas to the replicated rows: it tells a
// call what this node knows of the world, and takes in what the store answered.
//
// What a call is told can only be too little, never too much, whatever this node
// has not heard: see package quota. An answer is believed only if this node has
// neither begun nor answered an exchange since the call was made: what others
// were told then must have been all that callers were told.
package ledger
