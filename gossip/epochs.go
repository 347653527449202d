package gossip

// keptEpochs is how many exchanges are remembered. A call takes less than a tenth
// of a second, in which there are not so many.
const keptEpochs = 64

// epochs counts the exchanges of a node, and remembers in which reign of the
// store each was made, 0 for one that was yet to begin.
type epochs struct {
	now    uint64
	reigns [keptEpochs]uint64
}

func (e *epochs) pass(reign uint64) {
	e.now++
	e.reigns[e.now%keptEpochs] = reign
}

// believes says whether all exchanges since an epoch were made in one reign.
func (e *epochs) believes(epoch, reign uint64) bool {
	if epoch == e.now {
		return true
	}
	if reign == 0 || e.now-epoch > keptEpochs {
		return false
	}
	for n := epoch + 1; n <= e.now; n++ {
		if e.reigns[n%keptEpochs] != reign {
			return false
		}
	}
	return true
}
