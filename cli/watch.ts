import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import { drawRun } from './draw.ts';
import { followRun } from './follow.ts';
import type { Api } from './http.ts';
import { type Output, printable } from './output.ts';
import { emptyPicture, noteOf, type RunPicture, withEvent } from './run-picture.ts';
import type { Detail } from './shapes.ts';
import { UNREACHABLE_TIMEOUT_MS } from './wait.ts';

const FRAME_MS = 100;
const CLEAR_BELOW = '\u001b[J';

/**
 * Follows a run to its end and the end of its callback. In a terminal, it redraws one picture. If the output is piped, it
 * prints a line for each event, with `--json` a JSON document for each event. Returns the final state.
 */
export async function watchRun(
  api: Api,
  output: Output,
  id: string,
  { after = 0 }: { after?: number } = {},
): Promise<TaskState> {
  output.endWithoutReader();
  const run = await api.call<Detail>('GET', `/api/v1/tasks/${id}`);
  const show = output.live ? createCanvas(output, run.title) : createLog(output);
  let picture: RunPicture = emptyPicture;
  let isLost = false;
  const onLost = (reason: string) => {
    if (!isLost) show.note(`${reason}; retrying`);
    isLost = true;
  };
  const onOtherTransport = (reason: string, transport: string) => {
    if (output.talkative) show.note(`${reason}; following by ${transport}`);
  };
  try {
    const followed = { api, id, projectId: run.project_id };
    for await (const event of followRun(followed, {
      after,
      patienceMs: UNREACHABLE_TIMEOUT_MS,
      onLost,
      onOtherTransport,
    })) {
      isLost = false;
      picture = withEvent(picture, event);
      show.event(event, picture);
    }
  } finally {
    show.end(picture);
  }
  const end = await api.call<Detail>('GET', `/api/v1/tasks/${id}`);
  return end.state;
}

type Shown = {
  event(event: FeedEvent, picture: RunPicture): void;
  /** A line to stderr. */
  note(text: string): void;
  end(picture: RunPicture): void;
};

function createLog(output: Output): Shown {
  return {
    event(event) {
      output.line(`${event.at}  ${printable(noteOf(event))}`);
      output.jsonLine(event);
    },
    note: output.note,
    end: () => {},
  };
}

/** Draws at most ten times a second, and once a second without events, so that durations are up to date. */
function createCanvas(output: Output, title: string): Shown {
  let latest: RunPicture = emptyPicture;
  let drawnLines = 0;
  let drawnAt = 0;
  let isStale = true;
  /** Returns the control sequence that clears the previous picture. */
  const wiped = () => `${drawnLines === 0 ? '' : `\u001b[${drawnLines}A`}\r${CLEAR_BELOW}`;
  const draw = () => {
    const now = Date.now();
    const lines = drawRun(latest, title, { columns: output.columns, rows: output.rows, now });
    output.write(`${wiped()}${lines.join('\n')}\n`);
    drawnLines = lines.length;
    drawnAt = now;
    isStale = false;
  };
  const timer = setInterval(() => {
    if (isStale || Date.now() - drawnAt >= 1_000) draw();
  }, FRAME_MS);
  return {
    event(_event, picture) {
      latest = picture;
      isStale = true;
    },
    note(text) {
      output.write(wiped());
      drawnLines = 0;
      output.note(text);
      isStale = true;
    },
    end(picture) {
      clearInterval(timer);
      latest = picture;
      draw();
    },
  };
}
