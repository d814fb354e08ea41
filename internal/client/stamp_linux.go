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
	control [64]byte // room for one timestamp message
	try     func(fd uintptr) bool
	poll    bool
	n       int
	errno   syscall.Errno
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
	r.vector.Base = &p[0]
	r.vector.SetLen(len(p))
	r.poll = poll
	err = r.conn.Read(r.try)
	r.vector.Base = nil
	switch {
	case err != nil:
		return 0, 0, err
	case r.errno == unix.EAGAIN:
		return 0, 0, os.ErrDeadlineExceeded
	case r.errno != 0:
		return 0, 0, os.NewSyscallError("recvmsg", r.errno)
	case r.n == 0:
		return 0, 0, io.EOF
	}
	return r.n, r.timestamp(), nil
}

// recvmsg is called by the runtime when the socket may be readable; false asks it to wait. The socket does not
// block, so the call needs no preparation by the scheduler.
func (r *receiver) recvmsg(fd uintptr) bool {
	for {
		r.message.Control = &r.control[0]
		r.message.SetControllen(len(r.control))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
		if errno == unix.EINTR {
			continue
		}
		r.n, r.errno = int(n), errno
		return errno != unix.EAGAIN || r.poll
	}
}

// timestamp finds the stamp among the control messages of the last recvmsg.
func (r *receiver) timestamp() int64 {
	const size = unix.SizeofCmsghdr
	if int(r.message.Controllen) < size+int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	header := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&r.control[unix.CmsgLen(0)])).Nano()
}
