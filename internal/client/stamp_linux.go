package client

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver reads a TCP connection with recvmsg, so that each read brings the kernel's receive timestamp of the
// newest packet in it (SO_TIMESTAMPNS, socket(7)). It allocates nothing after it was made.
type receiver struct {
	conn    syscall.RawConn
	message unix.Msghdr
	vector  unix.Iovec
	control [96]byte // room for a timestamp and a queue length
	try     func(fd uintptr) bool
	errno   syscall.Errno
	n       int
	stamp   int64 // of the latest read, nanoseconds of Unix time; 0: none
	queued  int   // bytes left in the socket after it; -1: not told

	poll bool                          // do not wait
	sink func(n int, stamp int64) bool // takes each read of follow; false ends it
}

// newReceiver returns nil when conn is not a TCP connection or the kernel gives no timestamps.
func newReceiver(conn net.Conn) *receiver {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return nil
	}
	// TCP_INQ tells how much is left (since Linux 4.18), which saves the read that would find nothing. Without it
	// everything works as well.
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_TCP, unix.TCP_INQ, 1)
	})
	r := &receiver{conn: raw}
	r.try = r.recvmsg
	r.message.Iov = &r.vector
	r.message.SetIovlen(1)
	return r
}

// holdStamps makes the kernel stamp packets from now on, for as long as the returned value is referenced. It begins
// some time after the first socket asked for it, which would leave the first answer of a program without stamps.
func holdStamps() any {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // each connection asks again
	}
	f := os.NewFile(uintptr(fd), "timestamps") // closed when it is no longer referenced
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// receive waits for bytes and reads them. stamp is in nanoseconds of Unix time, 0 when the kernel gave none.
// With poll it does not wait: os.ErrDeadlineExceeded when nothing is there.
func (r *receiver) receive(p []byte, poll bool) (n int, stamp int64, err error) {
	if len(p) == 0 {
		return 0, 0, nil
	}
	r.poll, r.sink = poll, nil
	if err := r.read(p); err != nil {
		return 0, 0, err
	}
	return r.n, r.stamp, nil
}

// follow reads into p again and again, and hands each read to sink until that returns false. It asks the kernel for
// nothing between two arrivals: after a read that emptied the socket it waits at once. One case needs the caller's
// help: a reset that comes between the wake-up and the read of data before it shows only at the next look, so the
// deadline of the connection must end the wait from time to time.
func (r *receiver) follow(p []byte, sink func(n int, stamp int64) bool) error {
	r.poll, r.sink = false, sink
	return r.read(p)
}

func (r *receiver) read(p []byte) error {
	r.vector.Base = &p[0]
	r.vector.SetLen(len(p))
	err := r.conn.Read(r.try)
	r.vector.Base = nil
	switch {
	case err != nil:
		return err
	case r.errno == unix.EAGAIN:
		return os.ErrDeadlineExceeded
	case r.errno != 0:
		return os.NewSyscallError("recvmsg", r.errno)
	case r.n == 0:
		return io.EOF
	}
	return nil
}

// recvmsg is called by the runtime when the socket may be readable; false asks it to wait until it is again. The
// socket does not block, so the call needs no preparation by the scheduler.
func (r *receiver) recvmsg(fd uintptr) bool {
	for {
		r.message.Control = &r.control[0]
		r.message.SetControllen(len(r.control))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
		if errno == unix.EINTR {
			continue
		}
		r.n, r.errno = int(n), errno
		if errno == unix.EAGAIN && !r.poll {
			return false
		}
		if errno != 0 || n == 0 {
			return true
		}
		r.controls()
		if r.sink == nil || !r.sink(r.n, r.stamp) {
			return true
		}
		if r.queued == 0 {
			return false
		}
	}
}

// controls reads the control messages of the last recvmsg.
func (r *receiver) controls() {
	r.stamp, r.queued = 0, -1
	end := int(r.message.Controllen)
	for at := 0; at+unix.SizeofCmsghdr <= end; {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[at]))
		data := unsafe.Pointer(&r.control[at+unix.CmsgLen(0)])
		switch {
		case header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS:
			r.stamp = (*unix.Timespec)(data).Nano()
		case header.Level == unix.SOL_TCP && header.Type == unix.TCP_CM_INQ:
			r.queued = int(*(*int32)(data))
		}
		at += unix.CmsgSpace(int(header.Len) - unix.CmsgLen(0))
	}
}
