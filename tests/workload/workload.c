/* Does an exact number of things, so that tests know what a tracer must count.
 *
 *   workload COMMAND N [ARG]
 *
 * While the counted part runs, the thread is called "wl-run"; before and after it is called by its file name. A script that
 * asks for comm == "wl-run" therefore sees the counted part alone, without program start and end. Setting the name is
 * a prctl(2) call: the closing one is entered as "wl-run", the opening one returns as "wl-run".
 * Add commands freely; never change what an existing one does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, used, visibility("default")))

/* Functions for user probes; the barrier keeps the compiler from folding calls. */
KEEP long workload_work(long a, long b) { __asm__ volatile("" ::: "memory"); return a + b; }
KEEP int workload_negative(int a) { __asm__ volatile("" ::: "memory"); return -a; }
KEEP void workload_string(const char *text) { __asm__ volatile("" ::"r"(text) : "memory"); }
KEEP void workload_buffer(const void *bytes, size_t size) { __asm__ volatile("" ::"r"(bytes), "r"(size) : "memory"); }
KEEP void workload_inner(long a) { __asm__ volatile("" ::"r"(a) : "memory"); }
KEEP void workload_middle(long a) { workload_inner(a); __asm__ volatile("" ::: "memory"); }
KEEP void workload_outer(long a) { workload_middle(a); __asm__ volatile("" ::: "memory"); }
KEEP long workload_six(long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f) : "memory");
	return a + b + c + d + e + f;
}
/* A C++ name without a C++ compiler: strix::add(int, int). */
KEEP int cpp_add(int a, int b) __asm__("_ZN5strix3addEii");
KEEP int cpp_add(int a, int b) { __asm__ volatile("" ::: "memory"); return a + b; }

struct workload_pair {
	int number;
	char name[12];
	struct workload_pair *next;
};
KEEP void workload_struct(struct workload_pair *pair) { __asm__ volatile("" ::"r"(pair) : "memory"); }

static char self_name[16];

static void begin(void) { prctl(PR_SET_NAME, "wl-run"); }
static void end(void) { prctl(PR_SET_NAME, self_name); }

static void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pin(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void do_getppid(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	end();
}

static void do_read(long n, long size)
{
	char *buf = malloc(size);
	int fd = open("/dev/zero", O_RDONLY);
	if (fd < 0) die("/dev/zero");
	begin();
	for (long i = 0; i < n; i++)
		if (syscall(SYS_read, fd, buf, size) != size) die("read");
	end();
}

static void do_write(long n, long size)
{
	char *buf = calloc(1, size);
	int fd = open("/dev/null", O_WRONLY);
	if (fd < 0) die("/dev/null");
	begin();
	for (long i = 0; i < n; i++)
		if (syscall(SYS_write, fd, buf, size) != size) die("write");
	end();
}

/* Reads of 1, 2, 4, ... bytes, each size once a round: a histogram with known rows. */
static void do_steps(long n, long arg)
{
	char buf[1024];
	int fd = open("/dev/zero", O_RDONLY);
	(void)arg;
	begin();
	for (long i = 0; i < n; i++)
		for (long size = 1; size <= 1024; size *= 2)
			syscall(SYS_read, fd, buf, size);
	end();
}

static void do_open(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++) {
		int fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
		if (fd >= 0) syscall(SYS_close, fd);
	}
	end();
}

static void do_missing(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++)
		syscall(SYS_openat, AT_FDCWD, "/nonexistent/strix", O_RDONLY, 0);
	end();
}

static void do_exec(long n, long arg)
{
	/* On the stack, whose pages a child has from the start; a tracer cannot wait for others to be brought in. */
	volatile char self[] = "/proc/self/exe", name[] = "workload-child", command[] = "true", count[] = "1";
	(void)arg;
	begin();
	for (long i = 0; i < n; i++) {
		pid_t child = fork();
		if (child == 0) {
			execl((char *)self, (char *)name, (char *)command, (char *)count, (char *)NULL);
			_exit(127);
		}
		int status;
		waitpid(child, &status, 0);
	}
	end();
}

static void do_sleep(long n, long micros)
{
	struct timespec t = {micros / 1000000, micros % 1000000 * 1000};
	begin();
	for (long i = 0; i < n; i++)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
	end();
}

static void do_fault(long n, long arg)
{
	size_t page = 4096;
	(void)arg;
	char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) die("mmap");
	madvise(p, n * page, MADV_NOHUGEPAGE);
	begin();
	for (long i = 0; i < n; i++)
		((volatile char *)p)[i * page] = 1;
	end();
}

/* Two processes on one CPU hand a byte to and fro: each goes to sleep n times. */
static void do_ctxsw(long n, long arg)
{
	int there[2], back[2];
	char c = 0;
	(void)arg;
	pin();
	if (pipe(there) || pipe(back)) die("pipe");
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, "wl-peer");
		for (long i = 0; i < n; i++)
			if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1) _exit(1);
		_exit(0);
	}
	begin();
	for (long i = 0; i < n; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) die("ctxsw");
	end();
	int status;
	waitpid(child, &status, 0);
}

static int listener(struct sockaddr_in *at, int backlog)
{
	socklen_t size = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	memset(at, 0, sizeof(*at));
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (void *)at, size) || listen(fd, backlog) || getsockname(fd, (void *)at, &size)) die("listen");
	return fd;
}

/* n TCP connections over loopback, on each a message of `size` bytes. */
static void do_connect(long n, long size)
{
	struct sockaddr_in at;
	int server = listener(&at, 16);
	char *buf = calloc(1, size + 1), *in = malloc(size + 1);
	begin();
	for (long i = 0; i < n; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (void *)&at, sizeof(at))) die("connect");
		int peer = accept(server, NULL, NULL);
		if (size > 0 && (send(fd, buf, size, 0) != size || recv(peer, in, size, MSG_WAITALL) != size)) die("send");
		close(peer);
		close(fd);
	}
	end();
}

/* n datagrams of `size` bytes to a port that somebody reads. */
static void do_udp(long n, long size)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	char *buf = calloc(1, size + 1);
	if (bind(in, (void *)&at, len) || getsockname(in, (void *)&at, &len)) die("bind");
	begin();
	for (long i = 0; i < n; i++)
		if (sendto(out, buf, size, 0, (void *)&at, len) != size || recv(in, buf, size, 0) != size) die("udp");
	end();
}

/* n datagrams to a port that nobody reads: the kernel drops each. */
static void do_drop(long n, long arg)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
	int out = socket(AF_INET, SOCK_DGRAM, 0);
	(void)arg;
	begin();
	for (long i = 0; i < n; i++)
		if (sendto(out, "x", 1, 0, (void *)&at, sizeof(at)) != 1) die("drop");
	end();
}

/* Connections to a full accept queue: their SYNs are dropped and sent again after a second. */
static void do_retransmit(long n, long arg)
{
	struct sockaddr_in at;
	(void)arg;
	listener(&at, 0);
	begin();
	for (long i = 0; i < n + 2; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fd, (void *)&at, sizeof(at)) && errno != EINPROGRESS) die("connect");
	}
	sleep(2);
	end();
}

static void do_malloc(long n, long size)
{
	void *volatile p;
	begin();
	for (long i = 0; i < n; i++) {
		p = malloc(size);
		free(p);
	}
	end();
}

/* n blocks that stay. */
static void do_leak(long n, long size)
{
	void *volatile p;
	begin();
	for (long i = 0; i < n; i++)
		p = malloc(size);
	end();
	(void)p;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *holder(void *micros)
{
	for (int i = 0; i < 1; i++) {
		pthread_mutex_lock(&lock);
		usleep((long)micros);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* n uncontended locks; with an argument, each waits that many microseconds for a holder. */
static void do_mutex(long n, long micros)
{
	for (long i = 0; i < n; i++) {
		pthread_t thread;
		if (micros > 0) {
			if (pthread_create(&thread, NULL, holder, (void *)micros)) die("thread");
			usleep(micros / 3);
		}
		begin();
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		end();
		if (micros > 0) pthread_join(thread, NULL);
	}
	/* Stay a little, so that stacks can be symbolized while the process is there. */
	if (micros > 0) usleep(400000);
}

static void do_resolve(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++) {
		struct addrinfo *found = NULL;
		if (getaddrinfo("127.0.0.1", NULL, NULL, &found) == 0) freeaddrinfo(found);
	}
	end();
}

static void do_work(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++)
		workload_work(i, 2 * i);
	end();
}

/* One of each of the functions with special arguments, n times. */
static void do_functions(long n, long arg)
{
	struct workload_pair second = {43, "second", NULL}, first = {42, "first", &second};
	const unsigned char bytes[] = {0x00, 'a', 0xff, '\n', 'b', 0x7f, 0x80, 'c'};
	(void)arg;
	begin();
	for (long i = 0; i < n; i++) {
		workload_negative(5);
		workload_string("hello, \"tracer\"");
		workload_buffer(bytes, sizeof(bytes));
		workload_outer(i);
		workload_six(1, 2, 3, 4, 5, 6);
		cpp_add(20, 22);
		workload_struct(&first);
	}
	end();
}

static void do_hostile(long n, long arg)
{
	(void)arg;
	for (long i = 0; i < n; i++) {
		prctl(PR_SET_NAME, "\033[31mred\n\007x");
		syscall(SYS_getppid);
		end();
	}
}

static void do_burn(long millis, long arg)
{
	struct timespec now, start;
	(void)arg;
	begin();
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < millis);
	end();
}

static void do_direct(long n, long arg)
{
	void *buf;
	char name[] = "strix-direct-XXXXXX";
	(void)arg;
	int fd = mkostemp(name, O_DIRECT | O_DSYNC);
	if (fd < 0 || posix_memalign(&buf, 4096, 4096)) die("direct");
	unlink(name);
	memset(buf, 1, 4096);
	begin();
	for (long i = 0; i < n; i++)
		if (pwrite(fd, buf, 4096, i * 4096) != 4096) die("pwrite");
	end();
}

static void do_dirty(long n, long arg)
{
	char name[] = "strix-dirty-XXXXXX", buf[4096];
	(void)arg;
	int fd = mkstemp(name);
	if (fd < 0) die("dirty");
	unlink(name);
	memset(buf, 1, sizeof(buf));
	begin();
	for (long i = 0; i < n; i++)
		if (write(fd, buf, sizeof(buf)) != sizeof(buf)) die("write");
	sync();
	end();
}

static void do_pipe(long n, long arg)
{
	(void)arg;
	begin();
	for (long i = 0; i < n; i++) {
		int ends[2];
		if (pipe(ends)) die("pipe");
		close(ends[0]);
		close(ends[1]);
	}
	end();
}

static void do_signal(long n, long arg)
{
	(void)arg;
	signal(SIGUSR1, SIG_IGN);
	begin();
	for (long i = 0; i < n; i++)
		syscall(SYS_kill, getpid(), SIGUSR1);
	end();
}

/* Works at each SIGUSR1: n getppid calls or, with an argument, n rounds of the functions. For tests of -p and of stacks of a
 * process that is still there at the end. */
static void do_wait(long n, long functions)
{
	sigset_t set;
	int got;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		sigwait(&set, &got);
		if (functions)
			do_functions(n, 0);
		else
			do_getppid(n, 0);
	}
}

/* Wakes a waiting workload, and gives it time to do its part. */
static void do_poke(long pid, long arg)
{
	(void)arg;
	if (kill((pid_t)pid, SIGUSR1)) die("poke");
	usleep(300000);
}

static void do_true(long n, long arg) { (void)n, (void)arg; }
static void do_status(long n, long arg) { (void)arg; exit((int)n); }

/* Brings the loopback interface up; a freshly booted guest has it down. */
static void do_lo(long n, long arg)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)n, (void)arg;
	if (ioctl(fd, SIOCGIFFLAGS, &request)) die("lo");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request)) die("lo");
}

static const struct {
	const char *name;
	void (*run)(long n, long arg);
} commands[] = {
	{"getppid", do_getppid}, {"read", do_read}, {"write", do_write}, {"steps", do_steps}, {"open", do_open},
	{"missing", do_missing}, {"exec", do_exec}, {"sleep", do_sleep}, {"fault", do_fault}, {"ctxsw", do_ctxsw},
	{"connect", do_connect}, {"udp", do_udp}, {"drop", do_drop}, {"retransmit", do_retransmit}, {"malloc", do_malloc},
	{"leak", do_leak}, {"mutex", do_mutex}, {"resolve", do_resolve}, {"work", do_work}, {"functions", do_functions},
	{"hostile", do_hostile}, {"burn", do_burn}, {"direct", do_direct}, {"dirty", do_dirty}, {"pipe", do_pipe},
	{"signal", do_signal}, {"wait", do_wait}, {"poke", do_poke}, {"true", do_true}, {"status", do_status}, {"lo", do_lo},
};

int main(int argc, char **argv)
{
	prctl(PR_GET_NAME, self_name);
	for (size_t i = 0; argc >= 2 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			commands[i].run(argc > 2 ? atol(argv[2]) : 1, argc > 3 ? atol(argv[3]) : 0);
			return 0;
		}
	fprintf(stderr, "workload: no such command\n");
	return 2;
}
