import assert from 'node:assert/strict';
import { joinMessage, leaveMessage, renewMessage } from '../../src/domain/channel/channel-schemas.ts';
import {
  CHANNEL_PATH,
  LISTENING_ENDS,
  parseRoom,
  RELAY_FAILURES,
  webhookRoomOf,
} from '../../src/domain/channel/channel.ts';
import {
  answerMessage,
  listeningEnded,
  listenMessage,
  readAnswer,
  relayRequest,
} from '../../src/domain/channel/listening-schemas.ts';
import { problemsIn } from '../../src/domain/common/validation.ts';
import { roomOf } from '../../src/domain/tasks/task-run.ts';
import { foundIn } from './found-problems.ts';

const ID = '019c13eb-b3a0-7000-8000-00000000000f';

describe('a room', () => {
  it('is that of a run or of a webhook', () => {
    assert.deepEqual(parseRoom(roomOf(ID)), { kind: 'workflow', id: ID });
    assert.deepEqual(parseRoom(webhookRoomOf(ID)), { kind: 'webhook', id: ID });
    assert.deepEqual([roomOf('x'), webhookRoomOf('x')], ['workflow:x', 'webhook:x']);
  });

  const others = ['', ID, `task:${ID}`, `workflow:${ID.toUpperCase()}`, ` workflow:${ID}`, `workflow:${ID} `];
  const broken = [
    `workflow:${ID}0`,
    'workflow:',
    `workflow:${ID.slice(1)}`,
    `workflow:${ID.replaceAll('-', '')}`,
  ];
  for (const name of [...others, ...broken, `webhook:${ID}\n`, `workflow:${ID.replace('a', 'g')}`]) {
    it(`is not ${JSON.stringify(name)}`, () => assert.equal(parseRoom(name), null));
  }
});

describe('a message of a client', () => {
  it('joins a room, from a known event on', () => {
    for (const after of [undefined, 0, 2_147_483_647])
      assert.deepEqual(foundIn(joinMessage, { room: 'r', after }), []);
    assert.deepEqual(foundIn(joinMessage, { room: 'r', after: -1 }), ['/after too_small']);
    assert.deepEqual(foundIn(joinMessage, { room: 'r', after: 2_147_483_648 }), ['/after too_large']);
    assert.deepEqual(foundIn(joinMessage, { room: 'r', after: 1.5 }), ['/after wrong_type']);
    assert.deepEqual(foundIn(joinMessage, { other: 1 }), ['/room required', '/other unknown_member']);
  });

  it('leaves a room, whose name has at most 200 characters', () => {
    assert.deepEqual(foundIn(leaveMessage, { room: 'x'.repeat(200) }), []);
    assert.deepEqual(foundIn(leaveMessage, { room: 'x'.repeat(201) }), ['/room too_long']);
    assert.deepEqual(foundIn(leaveMessage, { other: 1 }), ['/room required', '/other unknown_member']);
  });

  it('has a new token of at most 8,192 characters', () => {
    assert.deepEqual(foundIn(renewMessage, { token: 'x'.repeat(8_192) }), []);
    assert.deepEqual(foundIn(renewMessage, { token: 'x'.repeat(8_193) }), ['/token too_long']);
    assert.deepEqual(foundIn(renewMessage, { other: 1 }), ['/token required', '/other unknown_member']);
  });

  it('listens to a webhook', () => {
    assert.deepEqual(foundIn(listenMessage, { webhook_id: ID }), []);
    assert.deepEqual(foundIn(listenMessage, { webhook_id: ID.toUpperCase() }), [
      '/webhook_id invalid_format',
    ]);
    assert.deepEqual(foundIn(listenMessage, { webhook_id: ` ${ID}` }), ['/webhook_id invalid_format']);
    assert.deepEqual(foundIn(listenMessage, { other: 1 }), ['/webhook_id required', '/other unknown_member']);
  });
});

describe('the answer of a listener', () => {
  const RESPONSE = { request_id: ID, status: 200, duration_ms: 12 };
  const found = (body: Record<string, unknown>): string[] => {
    const { error } = readAnswer(body);
    return error ? problemsIn(error, body, 'body').map(({ pointer, code }) => `${pointer} ${code}`) : [];
  };

  it('is a response, by default without headers and body', () => {
    assert.deepEqual(readAnswer(RESPONSE).data, { ...RESPONSE, headers: {}, body: '', truncated: false });
    assert.deepEqual(found({ other: 1 }), [
      '/request_id required',
      '/status required',
      '/duration_ms required',
      '/other unknown_member',
    ]);
  });

  const responses: [what: string, change: Record<string, unknown>, problems: string[]][] = [
    ['the lowest status', { status: 200 }, []],
    ['the highest status', { status: 599 }, []],
    ['a status below', { status: 199 }, ['/status too_small']],
    ['a status above', { status: 600 }, ['/status too_large']],
    ['a status with a fraction', { status: 200.5 }, ['/status wrong_type']],
    ['no time at all', { duration_ms: 0 }, []],
    ['the longest time', { duration_ms: 3_600_000 }, []],
    ['a negative time', { duration_ms: -1 }, ['/duration_ms too_small']],
    ['a longer time', { duration_ms: 3_600_001 }, ['/duration_ms too_large']],
    ['another id', { request_id: 'x' }, ['/request_id invalid_format']],
    ['a truncated body', { truncated: true }, []],
    ['a header with every kind of character', { headers: { "x-!#$%&'*+.^_`|~09": '\t aZ~\u0080ÿ' } }, []],
    ['a header in upper case', { headers: { 'X-A': '' } }, ['/headers/X-A invalid_format']],
    ['a header without a name', { headers: { '': 'x' } }, ['/headers/ invalid_format']],
    ['a header with a space', { headers: { ' x': '' } }, ['/headers/ x invalid_format']],
    ['a header with a space at its end', { headers: { 'x ': '' } }, ['/headers/x  invalid_format']],
    ['the longest name', { headers: { ['x'.repeat(256)]: '' } }, []],
    ['a line end in a header', { headers: { x: 'a\nb' } }, ['/headers/x invalid_format']],
    ['a line end before a header', { headers: { x: '\nb' } }, ['/headers/x invalid_format']],
    ['a line end after a header', { headers: { x: 'b\r' } }, ['/headers/x invalid_format']],
    ['a character beyond a byte', { headers: { x: '\u0100' } }, ['/headers/x invalid_format']],
    ['the longest header', { headers: { x: 'v'.repeat(8_192) } }, []],
    ['a longer header', { headers: { x: 'v'.repeat(8_193) } }, ['/headers/x too_long']],
    ['200 headers', { headers: headersOf(200) }, []],
    ['201 headers', { headers: headersOf(201) }, ['/headers invalid_format']],
    ['a body that is not base64', { body: '?' }, ['/body invalid_format']],
    ['the largest body', { body: Buffer.alloc(65_536).toString('base64') }, []],
    ['a larger body', { body: Buffer.alloc(65_537).toString('base64') }, ['/body invalid_format']],
    [
      'a larger body without padding',
      { body: Buffer.alloc(65_538).toString('base64') },
      ['/body invalid_format'],
    ],
    ['an unknown field', { more: 1 }, ['/more unknown_member']],
  ];
  for (const [what, change, problems] of responses) {
    it(`${problems.length > 0 ? 'cannot' : 'can'} have ${what}`, () => {
      assert.deepEqual(found({ ...RESPONSE, ...change }), problems);
    });
  }

  const FAILURE = { request_id: ID, failure: 'timeout', message: 'No response' };
  const failures: [what: string, change: Record<string, unknown>, problems: string[]][] = [
    ['another failure', { failure: 'status' }, ['/failure not_allowed']],
    ['no message', { message: undefined }, ['/message required']],
    ['the longest message', { message: 'x'.repeat(300) }, []],
    ['a longer message', { message: 'x'.repeat(301) }, ['/message too_long']],
    ['a line end in its message', { message: 'a\nb' }, ['/message invalid_format']],
    ['half of a surrogate pair in its message', { message: 'a\ud800' }, ['/message invalid_format']],
    ['a status', { status: 200 }, ['/status unknown_member']],
    ['another id', { request_id: 'x' }, ['/request_id invalid_format']],
  ];
  for (const [what, change, problems] of failures) {
    it(`without a response ${problems.length > 0 ? 'cannot' : 'can'} have ${what}`, () => {
      assert.deepEqual(found({ ...FAILURE, ...change }), problems);
    });
  }

  it('names the stage that failed', () => {
    for (const failure of RELAY_FAILURES) assert.deepEqual(found({ ...FAILURE, failure }), []);
    assert.deepEqual(
      [...RELAY_FAILURES],
      [
        'lookup_failed',
        'connection_failed',
        'tls_failed',
        'timeout',
        'connection_closed',
        'invalid_response',
      ],
    );
  });
});

describe('a message to a listener', () => {
  const REQUEST = {
    id: ID,
    webhook_id: ID,
    delivery_id: ID,
    event: 'issue.created',
    method: 'POST',
    headers: { 'x-a': 'b' },
    body: 'e30=',
  };

  it('is a request with exactly these fields', () => {
    assert.deepEqual(foundIn(relayRequest, REQUEST), []);
    assert.deepEqual(foundIn(relayRequest, { ...REQUEST, method: 'PUT' }), ['/method not_allowed']);
    assert.deepEqual(
      foundIn(relayRequest, {}),
      Object.keys(REQUEST).map((name) => `/${name} required`),
    );
  });

  it('says why no more requests follow', () => {
    for (const reason of LISTENING_ENDS)
      assert.deepEqual(foundIn(listeningEnded, { webhook_id: ID, reason }), []);
    assert.deepEqual(foundIn(listeningEnded, {}), ['/webhook_id required', '/reason required']);
    assert.deepEqual([...LISTENING_ENDS], ['replaced', 'gone']);
  });

  it('can be answered by a response or a failure', () => {
    const answers = [
      { request_id: ID, status: 200, duration_ms: 1 },
      { request_id: ID, failure: 'timeout', message: 'm' },
    ];
    for (const answer of answers) assert.deepEqual(foundIn(answerMessage, answer), []);
    assert.equal(foundIn(answerMessage, { request_id: ID }).length, 1);
  });
});

describe('the path of the channel', () => {
  it('stays the same, since clients connect to it', () => assert.equal(CHANNEL_PATH, '/ws'));
});

function headersOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, '']));
}
