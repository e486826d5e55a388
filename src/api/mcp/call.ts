import { validated } from '../http/validation.ts';
import { invocationOf } from './invocation.ts';
import { contentOf } from './results.ts';
import type { Arguments, Tool, ToolCall, ToolContent } from './tool.ts';

/**
 * Calls a tool and returns its content. The request of its route validates the arguments.
 * @throws Problem of the route
 */
export async function callTool(tool: Tool, given: Omit<ToolCall, 'extra'>): Promise<ToolContent> {
  const { route, caller, text, invoke } = given;
  const [extra, own] = splitArguments(given.args, Object.keys(tool.extra?.shape ?? {}));
  const call: ToolCall = {
    ...given,
    args: { ...tool.defaults?.of(caller), ...own },
    extra: tool.extra ? validated(tool.extra, extra, 'body') : {},
  };
  const answer = tool.run
    ? await tool.run(call)
    : await invoke(route, {
        ...invocationOf(route, call.args, text),
        idempotencyKey: call.extra['idempotency_key'] as string | undefined,
      });
  return tool.present ? await tool.present(answer, call) : contentOf(answer.body);
}

/** Returns the arguments with these names, and the others. */
function splitArguments(args: Arguments, names: readonly string[]): [Arguments, Arguments] {
  const entries = Object.entries(args);
  return [
    Object.fromEntries(entries.filter(([name]) => names.includes(name))),
    Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
  ];
}
