package gossip

import "testing"

func TestWhatIsBelieved(t *testing.T) {
	var e epochs
	if !e.believes(0, 0) || !e.believes(0, 7) {
		t.Error("without an exchange something is not believed")
	}
	e.pass(7)
	if !e.believes(0, 7) || e.believes(0, 8) || e.believes(0, 0) || !e.believes(1, 8) {
		t.Error("an exchange in reign 7 spoils that reign, or spares another")
	}
	e.pass(0)
	if e.believes(0, 7) || e.believes(1, 7) || !e.believes(2, 7) {
		t.Error("an exchange before a reign that is yet to begin spares something")
	}
	for range keptEpochs {
		e.pass(7)
	}
	if !e.believes(2, 7) {
		t.Error("not as many are remembered as are said to be")
	}
	if e.pass(7); e.believes(2, 7) {
		t.Error("what is not remembered is believed")
	}
}
