import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import { duration, padded, printable, styled } from './output.ts';
import type { RunPicture, StepPicture } from './run-picture.ts';

const MARKS: Readonly<Record<StepPicture['status'], string>> = {
  pending: '·',
  running: '▶',
  retrying: '↻',
  completed: '✔',
  failed: '✘',
  stopped: '-',
};
const COLOURS = {
  pending: 'dim',
  running: 'cyan',
  retrying: 'yellow',
  completed: 'green',
  failed: 'red',
  stopped: 'dim',
} as const;
const STATE_COLOURS = {
  completed: 'green',
  failed: 'red',
  escalated: 'magenta',
  cancelled: 'yellow',
  paused: 'yellow',
  'waiting for an answer': 'magenta',
} as const;
const BAR_CELLS = 20;

/**
 * A run as lines of at most `columns` characters and at most `rows` of them: heading, steps, notes. `now` is in
 * milliseconds since 1970.
 */
export function drawRun(
  picture: RunPicture,
  title: string,
  { columns, rows, now }: { columns: number; rows: number; now: number },
): string[] {
  const notes = picture.notes.slice(-5).map((note) => `  ${printable(note)}`);
  const room = Math.max(3, rows - notes.length - 3);
  const widths = {
    name: Math.max(0, ...picture.steps.map(({ name }) => stringWidth(name))),
    agent: Math.max(0, ...picture.steps.map(({ agent }) => stringWidth(agent))),
  };
  const steps = inView(picture.steps, room).map((step) => stepLine(step, widths, columns, now));
  return [...heading(picture, title, columns, now), ...steps, ...notes.map((note) => fitted(note, columns))];
}

function heading(picture: RunPicture, title: string, columns: number, now: number): string[] {
  const { state, steps, startedAt, durationMs } = picture;
  const done = steps.filter(({ status }) => status === 'completed').length;
  const share = steps.length === 0 ? 0 : done / steps.length;
  const filled = Math.round(share * BAR_CELLS);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
  const ms =
    durationMs ?? (startedAt === null || isTerminal(state) ? 0 : Math.max(0, now - Date.parse(startedAt)));
  const colour = state in STATE_COLOURS ? STATE_COLOURS[state as keyof typeof STATE_COLOURS] : 'cyan';
  const progress = `  ${bar}  ${done} of ${steps.length} steps  ${duration(ms)}`;
  return [
    styled('bold', fitted(printable(title), columns)),
    fitted(`${styled(colour, state)}${progress}`, columns),
  ];
}

function stepLine(
  step: StepPicture,
  widths: { name: number; agent: number },
  columns: number,
  now: number,
): string {
  const facts = [
    step.percent === null ? null : `${step.percent} %`,
    step.attempt > 1 ? `attempt ${step.attempt}` : null,
    timeOf(step, now),
    step.text === null ? null : printable(step.text),
  ];
  const names = `${padded(printable(step.name), widths.name)}  ${padded(printable(step.agent), widths.agent)}`;
  const line = fitted(
    `  ${MARKS[step.status]} ${names}  ${facts.filter((fact) => fact !== null).join('  ')}`,
    columns,
  );
  return styled(COLOURS[step.status], line.trimEnd());
}

function timeOf({ status, startedAt, durationMs }: StepPicture, now: number): string | null {
  if (durationMs !== null) return duration(durationMs);
  if (status !== 'running' || startedAt === null) return null;
  return duration(Math.max(0, now - Date.parse(startedAt)));
}

/** Returns as many steps as there is room for, around the running one. */
function inView(steps: readonly StepPicture[], room: number): readonly StepPicture[] {
  if (steps.length <= room) return steps;
  const active = steps.findIndex(({ status }) => status !== 'completed');
  const from = Math.min(Math.max(0, active - Math.floor(room / 2)), steps.length - room);
  return steps.slice(active === -1 ? steps.length - room : from).slice(0, room);
}

/** Returns a line cut to the width, because a wrapped line would break redrawing. A cut line has no colours. */
function fitted(line: string, columns: number): string {
  if (stringWidth(line) < columns) return line;
  let [cut, width] = ['', 0];
  for (const { segment } of new Intl.Segmenter().segment(stripVTControlCharacters(line))) {
    width += stringWidth(segment);
    if (width > columns - 2) break;
    cut += segment;
  }
  return `${cut}…`;
}
