import { contentOf } from './ask.ts';
import { usageError } from './exit-codes.ts';
import type { Api } from './http.ts';
import type { Io } from './io.ts';

/** The options of `task submit`. */
export type SubmitOptions = {
  title: string;
  project?: string;
  type?: string;
  description?: string;
  descriptionFile?: string;
  callbackUrl?: string;
  metadata?: string;
  idempotencyKey?: string;
  wait?: true;
  watch?: true;
};

/** Returns the submission that the options describe (docs/http-api.md). The server validates it. */
export async function submissionOf(
  options: SubmitOptions,
  api: Api,
  io: Io,
): Promise<Record<string, unknown>> {
  if (options.description !== undefined && options.descriptionFile !== undefined) {
    throw usageError('Use either --description or --description-file');
  }
  const metadata = options.metadata === undefined ? undefined : parsed(options.metadata);
  const description =
    options.descriptionFile === undefined
      ? options.description
      : await contentOf(options.descriptionFile, io);
  return {
    title: options.title,
    description,
    project_id: options.project ?? (await ownProject(api)),
    task_type: options.type,
    callback_url: options.callbackUrl,
    metadata,
  };
}

function parsed(metadata: string): unknown {
  try {
    return JSON.parse(metadata);
  } catch {
    throw usageError('--metadata is not valid JSON');
  }
}

/** Returns the project of the credential; for a user, the only project. */
export async function ownProject(api: Api): Promise<string> {
  const me = await api.call<{ project_id?: string | null }>('GET', '/api/v1/me');
  if (me.project_id) return me.project_id;
  const { data } = await api.call<{ data: { id: string; name: string }[] }>('GET', '/api/v1/projects');
  const [only] = data;
  if (only !== undefined && data.length === 1) return only.id;
  const choice = data.map(({ id, name }) => `\n  ${id}  ${name}`).join('');
  throw usageError(`Choose a project with --project${choice === '' ? '' : `:${choice}`}`);
}
