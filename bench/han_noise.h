/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Noise in the way of the ADAPT paper (section 5.1.1): ten times a second the
 * process sleeps for a time drawn uniformly from 0 to twice its mean; 5 % is a
 * mean of 5 ms.  A timer's signal does it, so it strikes inside MPI calls too.
 *
 * In a header, so that han_bench stays a single file to compile.
 */
#ifndef HAN_NOISE_H
#define HAN_NOISE_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOISE_PERIOD 100000000L   /* nanoseconds */
#define NOISE_MOST   50.0         /* per cent: a delay never reaches into the next tick */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The handler's own. Only the thread that gets the signal touches it while the timer runs. */
static struct {
    volatile double percent;
    uint64_t state;
    timer_t timer;
    int running;
} noise;

/* xorshift64*, from 0 up to but not 1 */
static double noise_draw(void)
{
    noise.state ^= noise.state >> 12;
    noise.state ^= noise.state << 25;
    noise.state ^= noise.state >> 27;
    return (double) ((noise.state * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / 9007199254740992.0;
}

static void noise_tick(int signal_number)
{
    int saved = errno;
    long delay = (long) (noise_draw() * noise.percent / 100.0 * 2 * NOISE_PERIOD);
    struct timespec left = { 0, delay };

    (void) signal_number;
    while (delay > 0 && 0 != nanosleep(&left, &left) && EINTR == errno) {
    }
    errno = saved;
}

/* Delays begin at the next tick. Ticks go on at level 0, without a delay. */
static inline void noise_set(double percent)
{
    noise.percent = percent;
}

/* The signal goes to the calling thread: MPI's own threads must not sleep in its place. 0, or -1 with errno. */
static int noise_start(uint64_t seed)
{
    struct sigaction action;
    struct sigevent event;
    struct itimerspec when = { .it_interval = { 0, NOISE_PERIOD } };

    noise.state = 0 != seed ? seed : 1;
    noise.percent = 0.0;
    memset(&action, 0, sizeof(action));
    action.sa_handler = noise_tick;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
    event.sigev_notify_thread_id = (pid_t) syscall(SYS_gettid);
    when.it_value.tv_nsec = 1 + (long) (noise_draw() * (NOISE_PERIOD - 1));  /* the ranks tick apart */
    if (0 != sigaction(SIGRTMIN, &action, NULL) || 0 != timer_create(CLOCK_MONOTONIC, &event, &noise.timer)) {
        return -1;
    }
    noise.running = 1;
    return timer_settime(noise.timer, 0, &when, NULL);
}

static void noise_stop(void)
{
    if (noise.running) {
        timer_delete(noise.timer);
        noise.running = 0;
    }
}

#endif
