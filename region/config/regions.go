package config

import (
	"fmt"
	"slices"
	"strconv"

	"weir/crdt"
)

const (
	maxRegions = 63
	maxWeight  = 1_000_000
	maxJoin    = 256
)

func setRegions(c *Config, in []item) {
	if len(in) > maxRegions {
		in[maxRegions].fail(fmt.Sprintf("is one too many; the most is %d regions", maxRegions))
		return
	}
	var regions []Region
	for _, i := range in {
		if err := checkName(i.name); err != nil {
			i.fail(fmt.Sprintf("region %q: %v", i.name, err))
			continue
		}
		if slices.ContainsFunc(regions, func(r Region) bool { return r.Name == i.name }) {
			i.fail(fmt.Sprintf("region %q is given twice; remove one", i.name))
			continue
		}
		weight, err := within(i.text, 1, maxWeight)
		if err != nil {
			i.fail(fmt.Sprintf("weight %q: %v", i.text, err))
			continue
		}
		regions = append(regions, Region{i.name, weight})
	}
	c.Regions = regions
}

func getRegions(c *Config) (out []item) {
	for _, r := range c.Regions {
		out = append(out, item{name: r.Name, text: strconv.Itoa(r.Weight)})
	}
	return out
}

func setJoin(c *Config, in []item) {
	if len(in) > maxJoin {
		in[maxJoin].fail(fmt.Sprintf("is one too many; the most is %d addresses", maxJoin))
		return
	}
	var join []string
	for _, i := range in {
		if err := checkJoin(i.text); err != nil {
			i.wrong(err)
			continue
		}
		if slices.Contains(join, i.text) {
			i.wrong(fmt.Errorf("is listed twice; remove one"))
			continue
		}
		join = append(join, i.text)
	}
	c.Gossip.Join = join
}

func getJoin(c *Config) (out []item) {
	for _, addr := range c.Gossip.Join {
		out = append(out, item{text: addr})
	}
	return out
}

// Splits is the first split: the regions and their weights. A node of a single
// region that lists none has all rights.
func (c *Config) Splits() (crdt.Splits, error) {
	weights := make([]crdt.Weight, 0, len(c.Regions))
	for _, r := range c.Regions {
		weights = append(weights, crdt.Weight{Region: r.Name, Weight: uint32(r.Weight)})
	}
	if len(weights) == 0 {
		weights = append(weights, crdt.Weight{Region: c.Region, Weight: 1})
	}
	var splits crdt.Splits
	split, err := crdt.NewSplit(1, weights)
	if err == nil {
		splits.Add(split)
	}
	return splits, err
}
