package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// The layout of bbolt's pages, which is in the byte order of the machine that
// wrote them: a header of id (8 bytes), flags (2), count (2) and overflow (4),
// then count elements of 16 bytes, then keys and values.
const (
	pageHeaderLen = 16
	elementLen    = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	elementIsBucket = 0x01
	bucketHeaderLen = 16 // root page (8 bytes), sequence (8)

	metaLen         = 64
	metaChecksumAt  = metaLen - 8
	metaMagic       = 0xED0CDAED
	metaVersion     = 2
	freelistInPlace = 0xFFFF // a count that stands in the first element instead

	minPageLen = 1 << 10
	maxPageLen = 1 << 24
	maxDepth   = 32 // of a tree: 2^32 leaves and more
)

// meta is what a meta page says.
type meta struct {
	pageLen  int64
	root     uint64 // page of the bucket of buckets
	freelist uint64
	pages    uint64 // pages in use or free: ids are below this
	txid     uint64
}

// checker reads a bbolt file without mapping it.
type checker struct {
	file *os.File
	meta meta
	used []bool // by page id: seen in the tree or the free list
	buf  []byte // holds the page read last
}

// checkPages reads every page of a bbolt file that a reader or writer could
// come by and returns ErrCorrupt unless each is sound, belongs to one place and
// holds its keys in order. An empty file is sound.
func checkPages(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	m, err := readMeta(file)
	if err != nil {
		return err
	}
	if m.pages > uint64(info.Size()/m.pageLen) {
		return damaged("the file has %d bytes, its %d pages need %d", info.Size(), m.pages, int64(m.pages)*m.pageLen)
	}
	c := checker{file: file, meta: m, used: make([]bool, m.pages)}
	if err := c.checkFreelist(); err != nil {
		return err
	}
	return c.checkRoot()
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// readMeta returns the newer of the sound meta pages, as bbolt would.
func readMeta(file *os.File) (meta, error) {
	first, ok0 := readMetaAt(file, 0)
	if ok0 {
		second, ok1 := readMetaAt(file, first.pageLen)
		if ok1 && second.pageLen == first.pageLen && second.txid > first.txid {
			return second, nil
		}
		return first, nil
	}
	for at := int64(minPageLen); at <= maxPageLen; at *= 2 {
		if second, ok := readMetaAt(file, at); ok && second.pageLen == at {
			return second, nil
		}
	}
	return meta{}, damaged("neither meta page is sound")
}

// readMetaAt reads the meta page at an offset; ok is false when it is not
// sound.
func readMetaAt(file *os.File, offset int64) (m meta, ok bool) {
	var b [metaLen]byte
	if _, err := file.ReadAt(b[:], offset+pageHeaderLen); err != nil {
		return meta{}, false
	}
	sum := fnv.New64a()
	sum.Write(b[:metaChecksumAt])
	e := binary.NativeEndian
	m = meta{
		pageLen:  int64(e.Uint32(b[8:])),
		root:     e.Uint64(b[16:]),
		freelist: e.Uint64(b[32:]),
		pages:    e.Uint64(b[40:]),
		txid:     e.Uint64(b[48:]),
	}
	ok = e.Uint32(b[0:]) == metaMagic && e.Uint32(b[4:]) == metaVersion &&
		e.Uint64(b[metaChecksumAt:]) == sum.Sum64() &&
		m.pageLen >= minPageLen && m.pageLen <= maxPageLen && m.pageLen&(m.pageLen-1) == 0
	return m, ok
}

// page is one page with those that it overflows into.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte // from the header on
}

// read reads a page and takes its ids: no other may use them. The page's data
// lasts until the next read.
func (c *checker) read(id uint64) (page, error) {
	if id < 2 || id >= c.meta.pages {
		return page{}, damaged("page %d is outside the file", id)
	}
	head, err := c.readAt(id, 1)
	if err != nil {
		return page{}, err
	}
	e := binary.NativeEndian
	p := page{id: id, flags: e.Uint16(head[8:]), count: int(e.Uint16(head[10:])), data: head}
	last := id + uint64(e.Uint32(head[12:]))
	if said := e.Uint64(head[0:]); said != id {
		return page{}, damaged("page %d says it is %d", id, said)
	}
	if last >= c.meta.pages {
		return page{}, damaged("page %d reaches to %d, outside the file", id, last)
	}
	for i := id; i <= last; i++ {
		if err := c.use(i); err != nil {
			return page{}, err
		}
	}
	if last > id {
		p.data, err = c.readAt(id, last-id+1)
	}
	return p, err
}

// readAt reads so many pages from id on.
func (c *checker) readAt(id, pages uint64) ([]byte, error) {
	size := int(pages) * int(c.meta.pageLen)
	if cap(c.buf) < size {
		c.buf = make([]byte, size)
	}
	c.buf = c.buf[:size]
	if _, err := c.file.ReadAt(c.buf, int64(id)*c.meta.pageLen); err != nil {
		return nil, readError(id, err)
	}
	return c.buf, nil
}

// readError tells a file that is too short from a disk that cannot be read.
func readError(id uint64, err error) error {
	if errors.Is(err, io.EOF) {
		return damaged("page %d is cut short", id)
	}
	return fmt.Errorf("read page %d: %w", id, err)
}

func (c *checker) use(id uint64) error {
	if c.used[id] {
		return damaged("page %d is used twice", id)
	}
	c.used[id] = true
	return nil
}

// checkFreelist takes the free pages, so that none is found in the tree too.
func (c *checker) checkFreelist() error {
	p, err := c.read(c.meta.freelist)
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return damaged("page %d is no free list", p.id)
	}
	ids := p.data[pageHeaderLen:]
	count := uint64(p.count)
	if count == freelistInPlace {
		count = binary.NativeEndian.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return damaged("the free list has %d pages and room for %d", count, len(ids)/8)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id < 2 || id >= c.meta.pages {
			return damaged("free page %d is outside the file", id)
		}
		if err := c.use(id); err != nil {
			return err
		}
	}
	return nil
}

// span is the range of keys a subtree may hold: [from, to), nil for no bound.
type span struct{ from, to []byte }

// checkRoot checks the bucket of buckets, which holds nothing but buckets, and
// then each of those, which hold nothing but rows.
func (c *checker) checkRoot() error {
	var buckets [][2][]byte // name and header
	err := c.checkTree(c.meta.root, span{}, 0, func(flags uint32, key, value []byte) error {
		if flags != elementIsBucket {
			return damaged("%q is no bucket", key)
		}
		buckets = append(buckets, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range buckets {
		if err := c.checkBucket(b[0], b[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkBucket checks a bucket given what stands under its name: its root page,
// or a page inline.
func (c *checker) checkBucket(name, value []byte) error {
	if len(value) < bucketHeaderLen {
		return damaged("bucket %q has no header", name)
	}
	row := func(flags uint32, key, _ []byte) error {
		if flags != 0 {
			return damaged("%q in bucket %q is no row", key, name)
		}
		return nil
	}
	root := binary.NativeEndian.Uint64(value)
	if root != 0 {
		return c.checkTree(root, span{}, 0, row)
	}
	inline := value[bucketHeaderLen:]
	if len(inline) < pageHeaderLen {
		return damaged("bucket %q is cut short", name)
	}
	p := page{
		flags: binary.NativeEndian.Uint16(inline[8:]),
		count: int(binary.NativeEndian.Uint16(inline[10:])),
		data:  inline,
	}
	if p.flags != flagLeaf {
		return damaged("bucket %q is no leaf", name)
	}
	return checkLeaf(p, span{}, row)
}

// checkTree checks a page and all below it.
func (c *checker) checkTree(id uint64, within span, depth int, visit visitor) error {
	if depth > maxDepth {
		return damaged("page %d is too deep in its tree", id)
	}
	p, err := c.read(id)
	if err != nil {
		return err
	}
	switch {
	case p.flags == flagLeaf && (p.count > 0 || depth == 0):
		return checkLeaf(p, within, visit)
	case p.flags == flagBranch && p.count > 0:
		p.data = bytes.Clone(p.data) // its keys bound those of its children
		return c.checkBranch(p, within, depth, visit)
	}
	return damaged("page %d has flags %#x and %d elements", id, p.flags, p.count)
}

// visitor is called with each element of a leaf.
type visitor func(flags uint32, key, value []byte) error

func checkLeaf(p page, within span, visit visitor) error {
	e := binary.NativeEndian
	previous := within.from
	for i := range p.count {
		head, err := p.element(i)
		if err != nil {
			return err
		}
		keyLen, valueLen := e.Uint32(head[8:]), e.Uint32(head[12:])
		both, err := p.bytes(i, e.Uint32(head[4:]), keyLen, valueLen)
		if err != nil {
			return err
		}
		key := both[:keyLen]
		if err := p.inOrder(i, key, previous, within.to); err != nil {
			return err
		}
		if err := visit(e.Uint32(head[0:]), key, both[keyLen:]); err != nil {
			return err
		}
		previous = key
	}
	return nil
}

func (c *checker) checkBranch(p page, within span, depth int, visit visitor) error {
	e := binary.NativeEndian
	keys, children := make([][]byte, p.count), make([]uint64, p.count)
	previous := within.from
	for i := range p.count {
		head, err := p.element(i)
		if err != nil {
			return err
		}
		if keys[i], err = p.bytes(i, e.Uint32(head[0:]), e.Uint32(head[4:]), 0); err != nil {
			return err
		}
		if err := p.inOrder(i, keys[i], previous, within.to); err != nil {
			return err
		}
		children[i], previous = e.Uint64(head[8:]), keys[i]
	}
	for i, child := range children {
		below := span{from: keys[i], to: within.to}
		if i+1 < len(keys) {
			below.to = keys[i+1]
		}
		if err := c.checkTree(child, below, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// element returns the i-th element's 16 bytes.
func (p page) element(i int) ([]byte, error) {
	at := pageHeaderLen + i*elementLen
	if at+elementLen > len(p.data) {
		return nil, damaged("page %d has no room for its %d elements", p.id, p.count)
	}
	return p.data[at : at+elementLen], nil
}

// bytes returns the key and value of the i-th element, which begin pos bytes
// after the element.
func (p page) bytes(i int, pos, keyLen, valueLen uint32) ([]byte, error) {
	from := uint64(pageHeaderLen+i*elementLen) + uint64(pos)
	to := from + uint64(keyLen) + uint64(valueLen)
	if keyLen == 0 || to > uint64(len(p.data)) || from < uint64(pageHeaderLen+p.count*elementLen) {
		return nil, damaged("element %d of page %d is outside the page", i, p.id)
	}
	return p.data[from:to], nil
}

// inOrder checks that the i-th key comes after the previous one (the first may
// equal its bound) and before to.
func (p page) inOrder(i int, key, previous, to []byte) error {
	if c := bytes.Compare(key, previous); c < 0 || c == 0 && i > 0 {
		return damaged("key %d of page %d is out of order", i, p.id)
	}
	if to != nil && bytes.Compare(key, to) >= 0 {
		return damaged("key %d of page %d belongs to a later page", i, p.id)
	}
	return nil
}
