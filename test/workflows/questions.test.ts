import assert from 'node:assert/strict';
import type { RunState } from '../../src/domain/tasks/run-state.ts';
import { Questions, type CarriedQuestions } from '../../src/workflows/questions.ts';
import { executing } from '../domain/executing-run.ts';

/** The tests of approvals and of runs that continue show the same in workflows, also for agents with separate ones. */
describe('the questions of a run', () => {
  /** Returns the questions of a run with two steps, and what was answered. */
  function setUp(carried: CarriedQuestions | null = null, state: RunState = executing('one', 'two')) {
    const answered: unknown[] = [];
    const onAnswer = (name: string) => (answer: object) => void answered.push([name, answer]);
    return { state, answered, onAnswer, questions: new Questions(state, carried) };
  }
  const nothing = { asked: [], early: [] };

  it('are asked one at a time, and each is answered once', async () => {
    const { state, answered, onAnswer, questions } = setUp();
    assert.equal(questions.ask('id-one', 'First?', onAnswer('first')), 1);
    assert.equal(questions.ask('id-two', 'Second?', onAnswer('second')), 2);
    assert.deepEqual([state.isPaused, state.openQuestion], [true, '1']);
    await questions.continue({ by: 'ada', reason: 'yes', question: '1' })();
    assert.deepEqual(answered, [['first', { by: 'ada', reason: 'yes' }]]);
    assert.deepEqual([state.isPaused, state.openQuestion], [true, '2']);
    await questions.continue({ by: 'ben', question: '1' })();
    assert.equal(answered.length, 1, 'a repeated answer to the previous question');
    await questions.continue({ by: 'ben' })();
    assert.deepEqual(answered[1], ['second', { by: 'ben', reason: null }]);
    assert.equal(state.isPaused, false);
    await questions.continue({ by: 'ben' })();
    assert.equal(answered.length, 2);
    assert.deepEqual(questions.carried(), nothing);
  });

  it('are not asked after the end of the run', () => {
    const { state, answered, onAnswer, questions } = setUp();
    state.end('cancelled', { by: 'ada' }, Date.now());
    assert.equal(questions.ask('id-one', 'Too late?', onAnswer('late')), null);
    questions.askForAgent('id-one', 'Too late?', { workflowId: 'w', call: 1 });
    assert.deepEqual([answered, questions.carried()], [[], nothing]);
  });

  it('wait for an answer that an earlier execution of the workflow asked for', async () => {
    const { state, questions: earlier, onAnswer } = setUp();
    earlier.ask('id-one', 'First?', onAnswer('lost'));
    const { answered, questions, onAnswer: next } = setUp(earlier.carried(), state);
    questions.expect(1, next('first'));
    await questions.continue({ by: 'ada', question: '1' })();
    assert.deepEqual(answered, [['first', { by: 'ada', reason: null }]]);
  });

  it('of agents with separate workflows are taken over until they are answered', () => {
    const { questions } = setUp();
    const [one, two] = [
      { workflowId: 'run:id-one:1', call: 3 },
      { workflowId: 'run:id-two:1', call: 4 },
    ];
    questions.askForAgent('id-one', 'First?', one);
    questions.askForAgent('id-two', 'Second?', two);
    const carried = questions.carried();
    assert.deepEqual(carried, {
      asked: [
        [1, one],
        [2, two],
      ],
      early: [],
    });
    assert.deepEqual(setUp(carried).questions.carried(), carried);
    assert.deepEqual(setUp({ asked: carried.asked }).questions.carried(), carried);
  });

  it('get an answer that came before them, and only their own', async () => {
    const early = [
      ['2', { by: 'ada', reason: 'to the second', question: '2' }],
    ] as CarriedQuestions['early'] & object;
    const { answered, questions, onAnswer } = setUp({ asked: [], early });
    await questions.continueEarly()();
    questions.ask('id-one', 'First?', onAnswer('first'));
    await questions.continueEarly()();
    assert.deepEqual(answered, []);
    questions.ask('id-two', 'Second?', onAnswer('second'));
    await questions.continueEarly()();
    assert.deepEqual(answered, [], 'the first question is still open');
    assert.deepEqual(questions.carried().early, early);
    await questions.continue({ by: 'ben', question: '1' })();
    assert.deepEqual(answered, [
      ['first', { by: 'ben', reason: null }],
      ['second', { by: 'ada', reason: 'to the second' }],
    ]);
    assert.deepEqual(questions.carried(), nothing);
  });
});
