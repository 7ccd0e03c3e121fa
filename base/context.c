/* context.c - see context.h. */
#undef _FORTIFY_SOURCE /* with it, _longjmp goes to none but an older frame of the same stack */
#include "base/context.h"

#include <stdint.h>
#include <string.h>

#if WH_CONTEXT_OWN

/* Pushes what the caller may rely on, leaves the stack pointer at *from, and takes the same from the stack `to`. It goes on by a jump, and not
 * by a return: the processor predicts that a return leads to the latest call, which is wrong in each switch, and costs as much as all else. */
void wh_context_jump(void **from, void *to);
/* Where a new context begins: the function is in one of those registers, its argument in another. No caller is above it, which debuggers are
 * told. */
void wh_context_enter(void);

#if defined(__x86_64__)

/* System V ABI: rbx, rbp, r12 to r15, and of the floating point its modes. */
__asm__(".text\n"
	".p2align 4\n"
	".globl wh_context_jump\n"
	".hidden wh_context_jump\n"
	".type wh_context_jump, @function\n"
	"wh_context_jump:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r15\n"
	"	pushq %r14\n"
	"	pushq %r13\n"
	"	pushq %r12\n"
	"	subq $8, %rsp\n"
	"	stmxcsr (%rsp)\n"
	"	fnstcw 4(%rsp)\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	ldmxcsr (%rsp)\n"
	"	fldcw 4(%rsp)\n"
	"	addq $8, %rsp\n"
	"	popq %r12\n"
	"	popq %r13\n"
	"	popq %r14\n"
	"	popq %r15\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	popq %rcx\n"
	"	jmp *%rcx\n"
	"	.cfi_endproc\n"
	".size wh_context_jump, . - wh_context_jump\n"
	".p2align 4\n"
	".globl wh_context_enter\n"
	".hidden wh_context_enter\n"
	".type wh_context_enter, @function\n"
	"wh_context_enter:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	movq %r12, %rdi\n"
	"	call *%r13\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size wh_context_enter, . - wh_context_enter\n");

_Static_assert(sizeof(void *) == 8, "x32 has other registers");

struct saved {
	uint32_t mxcsr;
	uint16_t x87, unused;
	uint64_t r12, r13, r14, r15, rbx, rbp;
	uint64_t next; /* where it goes on */
};

_Static_assert(sizeof(struct saved) == 64, "as wh_context_jump has it");

static void save_first(struct saved *saved, void (*fn)(void *), void *ctx)
{
	__asm__("stmxcsr %0" : "=m"(saved->mxcsr));
	__asm__("fnstcw %0" : "=m"(saved->x87));
	saved->r12 = (uint64_t)(uintptr_t)ctx;
	saved->r13 = (uint64_t)(uintptr_t)fn;
	saved->next = (uint64_t)(uintptr_t)wh_context_enter;
}

#else

/* AAPCS64: x19 to x29, the way back in x30, and the lower halves of v8 to v15; of the floating point its modes. */
__asm__(".text\n"
	".p2align 4\n"
	".globl wh_context_jump\n"
	".hidden wh_context_jump\n"
	".type wh_context_jump, %function\n"
	"wh_context_jump:\n"
	"	.cfi_startproc\n"
	"	sub sp, sp, #176\n"
	"	stp x19, x20, [sp, #0]\n"
	"	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mrs x9, fpcr\n"
	"	str x9, [sp, #160]\n"
	"	mov x10, sp\n"
	"	str x10, [x0]\n"
	"	mov sp, x1\n"
	"	ldr x10, [sp, #160]\n"
	"	cmp x9, x10\n"
	"	b.eq 1f\n" /* to write it is slow, and it is hardly ever another */
	"	msr fpcr, x10\n"
	"1:	ldp x19, x20, [sp, #0]\n"
	"	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #176\n"
	"	br x30\n"
	"	.cfi_endproc\n"
	".size wh_context_jump, . - wh_context_jump\n"
	".p2align 4\n"
	".globl wh_context_enter\n"
	".hidden wh_context_enter\n"
	".type wh_context_enter, %function\n"
	"wh_context_enter:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined x30\n"
	"	mov x0, x19\n"
	"	blr x20\n"
	"	brk #1\n"
	"	.cfi_endproc\n"
	".size wh_context_enter, . - wh_context_enter\n");

struct saved {
	uint64_t x19, x20, others[8], x29;
	uint64_t next; /* where it goes on */
	uint64_t d[8];
	uint64_t fpcr, unused;
};

_Static_assert(sizeof(struct saved) == 176, "as wh_context_jump has it");

static void save_first(struct saved *saved, void (*fn)(void *), void *ctx)
{
	__asm__("mrs %0, fpcr" : "=r"(saved->fpcr));
	saved->x19 = (uint64_t)(uintptr_t)ctx;
	saved->x20 = (uint64_t)(uintptr_t)fn;
	saved->next = (uint64_t)(uintptr_t)wh_context_enter;
}

#endif

void wh_context_make(struct wh_context *context, void *stack, size_t bytes, void (*fn)(void *), void *ctx)
{
	/* Where it enters the stack is aligned to 16 bytes, as before each call. */
	char *end = (char *)stack + (bytes & ~(size_t)15);
	struct saved *saved = (void *)(end - sizeof(*saved));

	memset(saved, 0, sizeof(*saved));
	save_first(saved, fn, ctx);
	context->stack = saved;
}

void wh_context_switch(struct wh_context *from, struct wh_context *to)
{
	wh_context_jump(&from->stack, to->stack);
}

#else

/* makecontext passes integers: an address comes in two. */
static void begin(unsigned fn_high, unsigned fn_low, unsigned ctx_high, unsigned ctx_low)
{
	uintptr_t fn = (uintptr_t)((uint64_t)fn_high << 32 | fn_low),
		  ctx = (uintptr_t)((uint64_t)ctx_high << 32 | ctx_low);

	((void (*)(void *))fn)((void *)ctx); /* NOLINT(performance-no-int-to-ptr) */
}

void wh_context_make(struct wh_context *context, void *stack, size_t bytes, void (*fn)(void *), void *ctx)
{
	uint64_t function = (uintptr_t)fn, argument = (uintptr_t)ctx;

	context->begun = false;
	getcontext(&context->first);
	context->first.uc_stack.ss_sp = stack;
	context->first.uc_stack.ss_size = bytes;
	context->first.uc_link = NULL;
	makecontext(&context->first, (void (*)(void))begin, 4, (unsigned)(function >> 32), (unsigned)function,
		    (unsigned)(argument >> 32), (unsigned)argument);
}

#if WH_ASAN || WH_TSAN /* they take _longjmp for a way out of the frames between */
void wh_context_switch(struct wh_context *from, struct wh_context *to)
{
	swapcontext(&from->first, &to->first);
}
#else
/* swapcontext changes the mask of signals each time, which is two system calls. Here it is always the same: a context is needed to begin on
 * another stack, from then on _longjmp will do. */
void wh_context_switch(struct wh_context *from, struct wh_context *to)
{
	from->begun = true;
	if (_setjmp(from->place) != 0)
		return;
	if (to->begun)
		_longjmp(to->place, 1);
	setcontext(&to->first);
}
#endif

#endif
