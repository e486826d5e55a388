import type { RunView } from '../src/domain/task-run.ts';

/** What the command line reads of the API's answers. */

export type Submitted = {
  execution_id: string;
  status_url: string;
  websocket_room: string;
  callback_secret: string;
};

export type CallbackStatus = 'none' | 'pending' | 'delivered' | 'failed';

export type Listed = {
  execution_id: string;
  project_id: string;
  title: string;
  task_type: string;
  created_at: string;
  callback: { url: string | null; status: CallbackStatus };
} & Pick<RunView, 'state' | 'progress' | 'duration_ms'>;

export type CallbackAttempt = {
  attempt: number;
  attempted_at: string;
  response_status: number | null;
  failure: string | null;
  message: string | null;
  address?: string | null;
  duration_ms: number | null;
  next_attempt_at: string | null;
};

export type Detail = Omit<RunView, 'paused_from'> &
  Omit<Listed, 'callback'> & {
    description: string | null;
    metadata: Record<string, unknown>;
    callback: { url: string | null; status: CallbackStatus; attempts: CallbackAttempt[] };
    status_url: string;
  };

/** A list that is whole. */
export type Whole<T> = { data: T[] };
/** A list in pages. */
export type Page<T> = { data: T[]; next_cursor: string | null };
