import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { actionsOf, holdsAsync, type ActionOf, type PlansOf } from './property.ts';

/* Random stories of runs and keys over the API, compared with a small model of docs/http-api.md. */

const STORIES = 12;
/** How long the API may take to get to the state of the model, in milliseconds. */
const LONGEST_MS = 45_000;

/** A run completes at once, takes longer than the story, or asks a question first. */
type Kind = 'quick' | 'long' | 'asking';
type State = 'executing' | 'paused' | 'completed' | 'cancelled';
type ModelRun = {
  id: string;
  kind: Kind;
  state: State;
  isAsking: boolean;
  isErased: boolean;
  rerunOf: string | null;
};
type ModelKey = { id: string; key: string; isRevoked: boolean };

const REHEARSALS: Record<Kind, object> = {
  quick: { steps: 1, step_ms: 0 },
  long: { steps: 1, step_ms: 3_600_000 },
  asking: { steps: 1, step_ms: 0, ask: { step: 1, question: 'Shall I?' } },
};

/** A run or a key; the index counts modulo their number. */
const which = fc.nat(5);
const kind = fc.constantFrom<Kind[]>('quick', 'long', 'long', 'asking');
const ACTIONS = {
  submit: [3, fc.record({ kind, by: which })],
  submitAgain: [2, fc.record({ which, isSame: fc.boolean() })],
  pause: [3, fc.record({ which, by: which })],
  continue: [3, fc.record({ which, by: which })],
  cancel: [2, fc.record({ which, by: which })],
  rerun: [1, fc.record({ which })],
  erase: [1, fc.record({ which })],
  createKey: [1, fc.constant({})],
  revokeKey: [1, fc.record({ which })],
} as const;
type Plans = PlansOf<typeof ACTIONS>;
type Action = ActionOf<typeof ACTIONS>;
const action = actionsOf(ACTIONS);

describe('runs and keys', function () {
  this.timeout(600_000);
  const world = useWorld();
  let owner: ReturnType<typeof world.as>;
  let stories = 0;
  before(async () => {
    owner = world.as(await world.signIn());
  });

  it('do what the documents say, for random stories', async () => {
    await holdsAsync([fc.array(action, { minLength: 4, maxLength: 25 })], tell, STORIES);
  });

  async function tell(actions: Action[]): Promise<void> {
    const story = createStory((stories += 1));
    for (const one of [{ kind: 'createKey', plan: {} } as const, ...actions]) {
      await story.apply(one);
      const what = `the state after ${JSON.stringify(one)}`;
      const isReached = async () => (await story.differences()).length === 0;
      await eventually(what, isReached, LONGEST_MS).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${(await story.differences()).join('\n')}`);
      });
    }
    await story.checkFeeds();
    await story.end();
  }

  function createStory(number: number) {
    const runs: ModelRun[] = [];
    const keys: ModelKey[] = [];
    const submissions: { idempotencyKey: string; body: object; id: string; by: ModelKey }[] = [];
    const runAt = (index: number) => runs[index % Math.max(runs.length, 1)];
    const keyAt = (index: number) => keys[index % Math.max(keys.length, 1)];
    const hasEnded = ({ state }: ModelRun) => state === 'completed' || state === 'cancelled';

    /** Adds a run to the model in the state that it reaches by itself. */
    function add(id: string, runKind: Kind, rerunOf: string | null): void {
      const state = runKind === 'quick' ? 'completed' : runKind === 'long' ? 'executing' : 'paused';
      runs.push({ id, kind: runKind, state, isAsking: runKind === 'asking', isErased: false, rerunOf });
    }

    /** Sends a pause, continue or cancel. Returns the run if it was accepted in the model. */
    async function steer(
      verb: 'pause' | 'continue' | 'cancel',
      { which: index, by }: { which: number; by: number },
      isAllowed: (run: ModelRun) => boolean,
    ): Promise<ModelRun | null> {
      const [run, key] = [runAt(index), keyAt(by)];
      if (run === undefined || key === undefined) return null;
      const { status } = await world.send('POST', `/api/v1/tasks/${run.id}/${verb}`, { key: key.key });
      const wanted = key.isRevoked ? 401 : run.isErased ? 404 : isAllowed(run) ? 202 : 409;
      assert.equal(status, wanted, `${verb} of a run that is ${run.state}`);
      return status === 202 ? run : null;
    }

    const act: { [Name in keyof Plans]: (plan: Plans[Name]) => Promise<void> } = {
      async submit({ kind: runKind, by }) {
        const key = keyAt(by);
        if (key === undefined) return;
        const idempotencyKey = `story-${Date.now()}-${number}-${submissions.length}`;
        const body = { title: `A ${runKind} run`, metadata: { rehearsal: REHEARSALS[runKind] } };
        const { status, json } = await world.submit(body, {
          key: key.key,
          headers: { 'Idempotency-Key': idempotencyKey },
          body: { ...body, project_id: world.installation.project_id },
        });
        assert.equal(status, key.isRevoked ? 401 : 201);
        if (status !== 201) return;
        submissions.push({ idempotencyKey, body, id: json.execution_id, by: key });
        add(json.execution_id, runKind, null);
      },
      async submitAgain({ which: index, isSame }) {
        const earlier = submissions[index % Math.max(submissions.length, 1)];
        if (earlier === undefined) return;
        const { status, json } = await world.send('POST', '/api/v1/tasks', {
          key: earlier.by.key,
          headers: { 'Idempotency-Key': earlier.idempotencyKey },
          body: {
            ...earlier.body,
            project_id: world.installation.project_id,
            ...(isSame ? {} : { description: 'Something else' }),
          },
        });
        assert.equal(status, earlier.by.isRevoked ? 401 : isSame ? 201 : 422);
        if (status === 201) assert.equal(json.execution_id, earlier.id);
      },
      async pause(plan) {
        const run = await steer('pause', plan, (one) => !hasEnded(one));
        if (run !== null) run.state = 'paused';
      },
      async continue(plan) {
        const run = await steer('continue', plan, (one) => !hasEnded(one));
        if (run === null || run.state !== 'paused') return;
        run.state = run.kind === 'long' ? 'executing' : 'completed';
        run.isAsking = false;
      },
      async cancel(plan) {
        const run = await steer('cancel', plan, ({ state }) => state !== 'completed');
        if (run !== null) Object.assign(run, { state: 'cancelled', isAsking: false });
      },
      async rerun({ which: index }) {
        const run = runAt(index);
        if (run === undefined) return;
        const { status, json } = await world.send('POST', `/api/v1/tasks/${run.id}/rerun`);
        assert.equal(status, run.isErased ? 404 : hasEnded(run) ? 201 : 409);
        // Every run here has one step, which a rerun repeats: the first one, if all were completed.
        if (status === 201) add(json.execution_id, run.kind, run.id);
      },
      async erase({ which: index }) {
        const run = runAt(index);
        if (run === undefined) return;
        const { status } = await world.send('DELETE', `/api/v1/tasks/${run.id}`);
        assert.equal(status, run.isErased ? 404 : hasEnded(run) ? 204 : 409);
        if (status !== 204) return;
        run.isErased = true;
        for (const later of runs) if (later.rerunOf === run.id) later.rerunOf = null;
      },
      async createKey() {
        const body = { name: `Key ${keys.length}`, project_id: world.installation.project_id };
        const { status, json } = await world.send('POST', '/api/v1/keys', {
          ...owner,
          body: { ...body, scopes: ['tasks:read', 'tasks:write'] },
        });
        assert.equal(status, 201);
        keys.push({ id: json.id, key: json.key, isRevoked: false });
      },
      async revokeKey({ which: index }) {
        const key = keyAt(index);
        if (key === undefined) return;
        const { status } = await world.send('DELETE', `/api/v1/keys/${key.id}`, owner);
        assert.equal(status, 204);
        key.isRevoked = true;
      },
    };

    return {
      apply: (one: Action) => act[one.kind](one.plan as never),
      /** Returns how the API differs from the model, a line each. */
      async differences(): Promise<string[]> {
        const lines = runs.map(async ({ id, state, isAsking, isErased, rerunOf }) => {
          const { status, json } = await world.send('GET', `/api/v1/tasks/${id}`);
          if (isErased) return status === 404 ? [] : [`${id} has ${status} and was erased`];
          const wanted = `${state}, ${isAsking ? 'asking' : 'not asking'}, rerun of ${rerunOf}`;
          const actual = `${json.state}, ${json.question ? 'asking' : 'not asking'}, rerun of ${json.rerun_of}`;
          return wanted === actual ? [] : [`${id} is ${actual}; expected: ${wanted}`];
        });
        return (await Promise.all(lines)).flat();
      },
      /** Checks that the feed of each run leads from one state to the next, to the present one, without gaps. */
      async checkFeeds(): Promise<void> {
        for (const { id, state, isErased } of runs) {
          if (isErased) continue;
          const { json } = await world.send('GET', `/api/v1/tasks/${id}/events?after=0`);
          const events: { seq: number; type: string; data: { from?: string; to?: string } }[] = json.data;
          assert.deepEqual(
            events.map(({ seq }) => seq),
            events.map((_, index) => index + 1),
          );
          const changes = events.filter(({ type }) => type === 'state.changed').map(({ data }) => data);
          for (const [index, { from }] of changes.entries()) {
            if (index > 0) assert.equal(from, changes[index - 1]?.to);
          }
          assert.equal(changes.at(-1)?.to, state);
        }
      },
      async end(): Promise<void> {
        for (const run of runs) {
          if (!run.isErased && !hasEnded(run)) await world.send('POST', `/api/v1/tasks/${run.id}/cancel`);
        }
      },
    };
  }
});
