import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import type { TaskBook, Told } from './books.ts';
import type { Answer, Caller } from './caller.ts';
import type { PlannedTask } from './plan-tasks.ts';

export type TaskLoad = {
  books: readonly TaskBook[];
  /** Resolves when every caller has had what it wanted, or has given up. */
  done: Promise<void>;
};

export type TaskDependencies = {
  caller: Caller;
  projectId: string;
  callbackUrl: string;
  /** Resolves at that moment of the story, milliseconds from its begin. */
  until(at: number): Promise<void>;
  /** True once nobody waits for anything any more. */
  isOver(): boolean;
  onTaken(plan: PlannedTask, id: string): void;
};

const POLL_MS = 1_500;

/** Submits every planned task at its time, and has its caller steer and poll it to its end. */
export function submitTasks(deps: TaskDependencies, plans: readonly PlannedTask[]): TaskLoad {
  const books: TaskBook[] = [];
  const done = Promise.all(
    plans.map(async (plan) => {
      await deps.until(plan.at);
      const book: TaskBook = { plan, ids: [], secret: null, told: [] };
      books.push(book);
      const id = await submit(deps, book);
      if (id === null) return;
      deps.onTaken(plan, id);
      await Promise.all([steer(deps, book, id), poll(deps, book, id)]);
    }),
  );
  return { books, done: done.then(() => {}) };
}

/** Sends it until it is taken, always under the same key; some give up after the first that fails. */
async function submit(
  { caller, projectId, callbackUrl, isOver }: TaskDependencies,
  book: TaskBook,
): Promise<string | null> {
  const { plan } = book;
  const body = {
    title: `A task that ${plan.sort}`,
    project_id: projectId,
    metadata: { mark: plan.mark, rehearsal: plan.rehearsal },
    ...(plan.withCallback ? { callback_url: callbackUrl } : {}),
  };
  for (;;) {
    const answer = await caller.ask('POST', '/api/v1/tasks', {
      body,
      headers: { 'Idempotency-Key': plan.mark },
    });
    note(book, 'submit', answer);
    if (answer?.status === 201) {
      const id = String(answer.json.execution_id);
      book.ids.push(id);
      book.secret = String(answer.json.callback_secret);
      return id;
    }
    if (plan.givesUp || isOver()) return null;
    await wait(500);
  }
}

/** Pauses, continues and cancels as planned; who is asked something answers it. */
async function steer({ caller, isOver }: TaskDependencies, book: TaskBook, id: string): Promise<void> {
  const began = Date.now();
  for (const { after, wish } of book.plan.wishes) {
    await wait(Math.max(0, began + after - Date.now()));
    const answer = await caller.insist(
      'POST',
      `/api/v1/tasks/${id}/${wish}`,
      { body: {}, until: [202, 409] },
      isOver,
    );
    note(book, wish, answer);
  }
}

/** Looks at the run every now and then; one that waits for a person, or for a lost `continue`, is continued. */
async function poll({ caller, isOver }: TaskDependencies, book: TaskBook, id: string): Promise<void> {
  const mayGoOn = () => book.told.filter(({ asked }) => asked !== 'poll' && asked !== 'submit').length;
  while (!isOver()) {
    await wait(POLL_MS);
    const answer = await caller.ask('GET', `/api/v1/tasks/${id}`);
    note(book, 'poll', answer);
    if (answer?.status !== 200) continue;
    if (isTerminal(answer.json.state)) return;
    if (answer.json.state === 'paused' && mayGoOn() >= book.plan.wishes.length) {
      note(book, 'continue', await caller.ask('POST', `/api/v1/tasks/${id}/continue`, { body: {} }));
    }
  }
}

function note(book: TaskBook, asked: Told['asked'], answer: Answer): void {
  if (!answer) return;
  const { state, last_seq: lastSeq } = answer.json ?? {};
  const isRun = answer.status < 300 && asked !== 'submit';
  book.told.push({ asked, status: answer.status, ...(isRun ? { state, lastSeq } : {}) });
}
