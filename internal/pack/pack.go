// Package pack turns plain Go values into compact bytes and back, for caches that this program alone reads.
//
//  1. Marshal walks a value: structs field by field, slices, maps in the order of their keys, pointers with their nil,
//     numbers, strings, bools, instants, and interfaces that hold such scalars. Nothing is dropped: a pointer to 0 comes
//     back as a pointer to 0, which encoding/gob does not do, and NaN as NaN, which encoding/json does not.
//  2. Unmarshal reads such bytes into a value of the same type. Bytes that were cut or changed are an error, never a wrong value:
//     a digest stands in front.
//  3. Digest names a type's shape, so that bytes written by another version of the program are never read.
//
// It is no format for others: field names are not stored, and there is no version but the digest.
package pack

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

const sumBytes = 16

var errBroken = errors.New("packed bytes are cut or changed")

// Marshal encodes v. It fails on a type that it does not know (channels, functions, unexported fields).
func Marshal(v any) ([]byte, error) {
	b, err := appendValue(make([]byte, sumBytes, 32<<10), reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b[sumBytes:])
	copy(b, sum[:sumBytes])
	return b, nil
}

// Unmarshal decodes what Marshal has made of a value of to's type into to, a pointer to an empty value.
func Unmarshal(b []byte, to any) error {
	if len(b) < sumBytes {
		return errBroken
	}
	if sum := sha256.Sum256(b[sumBytes:]); string(sum[:sumBytes]) != string(b[:sumBytes]) {
		return errBroken
	}
	r := reader{b[sumBytes:]}
	if err := r.value(reflect.ValueOf(to).Elem()); err != nil {
		return err
	}
	if len(r.b) > 0 {
		return errBroken
	}
	return nil
}

// Digest is a name for the shape of v's type: the names and types of all fields below it.
func Digest(v any) string {
	var b strings.Builder
	describe(&b, reflect.TypeOf(v), nil)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

func describe(b *strings.Builder, t reflect.Type, above []reflect.Type) {
	b.WriteString(t.String())
	if slices.Contains(above, t) || t == timeType {
		return
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Struct:
		b.WriteByte('{')
		for i := range t.NumField() {
			b.WriteString(t.Field(i).Name + " ")
			describe(b, t.Field(i).Type, above)
			b.WriteByte(';')
		}
		b.WriteByte('}')
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		b.WriteByte('(')
		if t.Kind() == reflect.Map {
			describe(b, t.Key(), above)
			b.WriteByte(':')
		}
		describe(b, t.Elem(), above)
		b.WriteByte(')')
	default:
		b.WriteString(t.Kind().String())
	}
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	floatsType = reflect.TypeFor[[]float64]()
)

// scalars are what an interface may hold, by their tag.
var scalars = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int64](), reflect.TypeFor[float64](), reflect.TypeFor[bool](), reflect.TypeFor[int](),
}

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0), nil
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Slice:
		return appendSlice(b, v)
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Interface:
		return appendInterface(b, v)
	case reflect.Struct:
		return appendStruct(b, v)
	}
	return nil, fmt.Errorf("pack: type %s is not known", v.Type())
}

func appendStruct(b []byte, v reflect.Value) ([]byte, error) {
	if v.Type() == timeType {
		at := v.Interface().(time.Time)
		b = binary.AppendVarint(b, at.Unix())
		return binary.AppendVarint(b, int64(at.Nanosecond())), nil
	}
	var err error
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.CanInterface() { // cheaper than to ask the type
			return nil, fmt.Errorf("pack: field %s of %s is not exported", v.Type().Field(i).Name, v.Type())
		}
		if b, err = appendValue(b, field); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendSlice writes 0 for nil, else one more than the length.
func appendSlice(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, 0), nil
	}
	b = binary.AppendUvarint(b, uint64(v.Len())+1)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return append(b, v.Bytes()...), nil
	}
	if v.Type() == floatsType {
		fs := v.Interface().([]float64)
		b = slices.Grow(b, 8*len(fs))
		for _, f := range fs {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		}
		return b, nil
	}
	var err error
	for i := range v.Len() {
		if b, err = appendValue(b, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendMap(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, 0), nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("pack: keys of %s are no strings", v.Type())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b = binary.AppendUvarint(b, uint64(len(keys))+1)
	var err error
	for _, k := range keys {
		if b, err = appendValue(b, k); err != nil {
			return nil, err
		}
		if b, err = appendValue(b, v.MapIndex(k)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendInterface(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, 0), nil
	}
	tag := slices.Index(scalars, v.Elem().Type())
	if tag < 0 {
		return nil, fmt.Errorf("pack: an interface holds a %s", v.Elem().Type())
	}
	return appendValue(append(b, byte(tag+1)), v.Elem())
}

// reader is what is left of the bytes.
type reader struct{ b []byte }

func (r *reader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, errBroken
	}
	r.b = r.b[n:]
	return v, nil
}

func (r *reader) varint() (int64, error) {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		return 0, errBroken
	}
	r.b = r.b[n:]
	return v, nil
}

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, errBroken
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out, nil
}

func (r *reader) float() (float64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

func (r *reader) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := r.varint()
		v.SetInt(n)
		return err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := r.uvarint()
		v.SetUint(n)
		return err
	case reflect.Float32, reflect.Float64:
		f, err := r.float()
		v.SetFloat(f)
		return err
	case reflect.Bool:
		b, err := r.take(1)
		v.SetBool(err == nil && b[0] == 1)
		return err
	case reflect.String:
		n, err := r.uvarint()
		if err != nil {
			return err
		}
		b, err := r.take(n)
		v.SetString(string(b))
		return err
	case reflect.Pointer:
		set, err := r.take(1)
		if err != nil || set[0] == 0 {
			return err
		}
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(v.Elem())
	case reflect.Slice:
		return r.slice(v)
	case reflect.Map:
		return r.table(v)
	case reflect.Interface:
		return r.scalar(v)
	case reflect.Struct:
		return r.fields(v)
	}
	return fmt.Errorf("pack: type %s is not known", v.Type())
}

func (r *reader) fields(v reflect.Value) error {
	if v.Type() == timeType {
		s, err := r.varint()
		if err != nil {
			return err
		}
		ns, err := r.varint()
		v.Set(reflect.ValueOf(time.Unix(s, ns).UTC()))
		return err
	}
	for i := range v.NumField() {
		if err := r.value(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// length reads a length that was written plus one; false for nil. Each element takes at least a byte, or none at all.
func (r *reader) length() (int, bool, error) {
	n, err := r.uvarint()
	if err != nil || n == 0 {
		return 0, false, err
	}
	if n-1 > uint64(len(r.b)) {
		return 0, false, errBroken
	}
	return int(n - 1), true, nil
}

func (r *reader) slice(v reflect.Value) error {
	n, ok, err := r.length()
	if err != nil || !ok {
		return err
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b, err := r.take(uint64(n))
		v.SetBytes(slices.Clone(b))
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	if fs, ok := v.Interface().([]float64); ok {
		for i := range fs {
			if fs[i], err = r.float(); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n {
		if err := r.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) table(v reflect.Value) error {
	n, ok, err := r.length()
	if err != nil || !ok {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	for range n {
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if err := r.value(key); err != nil {
			return err
		}
		if err := r.value(elem); err != nil {
			return err
		}
		v.SetMapIndex(key, elem)
	}
	return nil
}

func (r *reader) scalar(v reflect.Value) error {
	tag, err := r.take(1)
	if err != nil || tag[0] == 0 {
		return err
	}
	if int(tag[0]) > len(scalars) {
		return errBroken
	}
	elem := reflect.New(scalars[tag[0]-1]).Elem()
	if err := r.value(elem); err != nil {
		return err
	}
	v.Set(elem)
	return nil
}
