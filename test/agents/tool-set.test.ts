import assert from 'node:assert/strict';
import { textOfResult } from '../../src/agents/tool-answers.ts';
import type { ServerTool } from '../../src/agents/tool-connection.ts';
import { mayRepeat, toolNamed, toolSetOf } from '../../src/agents/tool-set.ts';
import { ALL_TOOLS_BYTES, TOOL_SCHEMA_BYTES } from '../../src/domain/common/limits.ts';

const tool = (name: string, more: Partial<ServerTool> = {}): ServerTool => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});
const serverWith = (...tools: ServerTool[]) => ({ list: async () => tools });
const FAILING = {
  list: async () => {
    throw new Error('no response');
  },
};

describe('the tools of an agent', () => {
  it('leave out those with a large schema, and name them', async () => {
    const sized = (bytes: number) => ({ type: 'object' as const, description: 'x'.repeat(bytes) });
    const overhead = Buffer.byteLength(JSON.stringify(sized(0)));
    const servers = serverWith(
      tool('fits', { inputSchema: sized(TOOL_SCHEMA_BYTES - overhead) }),
      tool('large', { inputSchema: sized(TOOL_SCHEMA_BYTES - overhead + 1) }),
      tool('foreign', { inputSchema: sized(TOOL_SCHEMA_BYTES) }),
    );
    const { tools, faults } = await toolSetOf(['docs/fits', 'docs/large'], servers);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['docs__fits'],
    );
    assert.deepEqual(faults, [`docs: the schema of large has more than ${TOOL_SCHEMA_BYTES} bytes`]);
  });

  it('leave out those that do not fit into one model call, and keep later ones that do', async () => {
    const large = { type: 'object' as const, description: 'x'.repeat(TOOL_SCHEMA_BYTES - 200) };
    const count = Math.floor(ALL_TOOLS_BYTES / TOOL_SCHEMA_BYTES) + 1;
    const many = Array.from({ length: count }, (_, index) => tool(`t${index}`, { inputSchema: large }));
    const { tools, faults } = await toolSetOf(['docs/*'], serverWith(...many, tool('small')));
    assert.equal(tools.length, count);
    assert.equal(tools.at(-1)?.name, 'docs__small');
    assert.deepEqual(faults, [`too many or too large tools for one agent, omitted: docs__t${count - 1}`]);
  });

  it('are described by their description, title or name', async () => {
    const servers = serverWith(
      tool('a', { description: 'Reads a page.', title: 'Read' }),
      tool('b', { title: 'Write' }),
      tool('c'),
    );
    const { tools } = await toolSetOf(['docs/*'], servers);
    assert.deepEqual(
      tools.map(({ description }) => description),
      ['Reads a page.', 'Write', 'c'],
    );
  });

  it('are not awaited if the work was aborted', async () => {
    await assert.rejects(toolSetOf(['docs/a'], FAILING, AbortSignal.abort(new Error('aborted'))), /aborted/);
    const { faults } = await toolSetOf(['docs/a'], FAILING, new AbortController().signal);
    assert.deepEqual(faults, ['docs: no response']);
  });

  it('can be called by name without their server, unless the allow-list has a pattern', async () => {
    assert.deepEqual(await toolNamed('docs__a', ['docs/a'], FAILING), { server: 'docs', tool: 'a' });
    await assert.rejects(toolNamed('docs__b', ['docs/a', 'docs/b*'], FAILING), /no response/);
    assert.equal(await toolNamed('docs__b', ['docs/a'], FAILING), null);
  });

  it('may be repeated only if their server or the catalogue says so', async () => {
    const servers = serverWith(
      tool('read', { annotations: { readOnlyHint: true } }),
      tool('put', { annotations: { idempotentHint: true } }),
      tool('send', { annotations: { readOnlyHint: false, idempotentHint: false } }),
      tool('other'),
    );
    const of = (
      name: string,
      repeatable: string[] = [],
      lister: { list: () => Promise<ServerTool[]> } = servers,
    ) => mayRepeat({ server: 'docs', tool: name }, repeatable, lister);
    assert.deepEqual(await Promise.all([of('read'), of('put'), of('send'), of('other'), of('gone')]), [
      true,
      true,
      false,
      false,
      false,
    ]);
    assert.equal(await of('send', ['se*']), true);
    assert.equal(await of('read', [], FAILING), false, 'an unavailable server says nothing');
  });
});

describe('the result of a tool as text', () => {
  const textOf = (...content: unknown[]) => textOfResult({ content } as never);

  it('contains the text of resources, and describes other content', () => {
    const resource = (fields: object) => ({ type: 'resource', resource: { uri: 'file:///a', ...fields } });
    assert.equal(textOf(resource({ text: 'Hello' })), '[resource file:///a]\nHello');
    assert.equal(
      textOf(resource({ mimeType: 'image/png', blob: 'QUJDRA' })),
      '[resource file:///a image/png, 4 bytes: omitted]',
    );
    assert.equal(textOf({ type: 'resource_link', uri: 'file:///b', name: 'b' }), '[resource b file:///b]');
    assert.equal(textOf({ type: 'resource_link', uri: 'file:///b' }), '[resource file:///b]');
    assert.equal(
      textOf({ type: 'audio', mimeType: 'audio/wav', data: 'QUJD' }),
      '[audio audio/wav, 3 bytes: omitted]',
    );
    assert.equal(textOf({ type: 'hologram' }), '[hologram: omitted]');
  });

  it('has a line for each part that has text', () => {
    const parts = [
      null,
      'x',
      { type: 'text', text: 'One' },
      { type: 'text', text: '' },
      { type: 'text', text: 'Two' },
    ];
    assert.equal(textOf(...parts, { type: 'resource', resource: null }), 'One\nTwo');
  });

  it('is its data if it has no text', () => {
    assert.equal(textOfResult({ content: [], structuredContent: { sum: 3 } }), '{"sum":3}');
    assert.equal(textOfResult({ toolResult: [1] }), '[1]');
    assert.equal(textOfResult({ content: [] }), '');
  });
});
