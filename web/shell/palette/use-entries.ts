import { useMantineColorScheme } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { shownStateOf } from '../../../src/domain/tasks/task-states.ts';
import { useSession } from '../../api/session.ts';
import { webhooksQuery } from '../../api/webhooks.ts';
import type { StatusWord } from '../../components/tones.ts';
import { PAGES } from '../navigation.tsx';
import { matchesWords } from './matching.ts';
import { deliveriesQuery, runsQuery } from './queries.ts';

/** What the palette offers: a page, an object or an action. */
export type Entry = {
  /** Unique in the palette. */
  key: string;
  title: string;
  detail?: string;
  status?: StatusWord;
  act: () => void;
};

export type Group = { title: string; entries: Entry[] };

const MOST_WEBHOOKS = 5;
const SCHEMES = { light: 'Light theme', dark: 'Dark theme', auto: 'System theme' } as const;

/**
 * Returns the groups of entries that match the typed text, and whether a search is in progress. `words` is the text that
 * is searched for, which follows the typed one after a delay. Groups that are searched for come last, so that the others
 * stay in place.
 */
export function useEntries(typed: string, words: string, onHelp: () => void) {
  const runs = useRuns(typed, words);
  const webhooks = useWebhooks(typed);
  const deliveries = useDeliveries(typed, words);
  const matching = (entries: Entry[]) => entries.filter(({ title }) => matchesWords(typed, title));
  const groups: Group[] = [
    { title: 'Actions', entries: matching(useActions(onHelp, typed.trim() !== '')) },
    { title: 'Pages', entries: matching(usePages()) },
    { title: 'Webhooks', entries: webhooks },
    { title: typed.trim() === '' ? 'Latest runs' : 'Runs', entries: runs.entries },
    { title: 'Deliveries', entries: deliveries.entries },
  ];
  return {
    groups: groups.filter(({ entries }) => entries.length > 0),
    isSearching: typed.trim() !== words || runs.isSearching || deliveries.isSearching,
    error: runs.error ?? deliveries.error,
  };
}

/** `isTyped`: with the actions that are shown only after typing. */
function useActions(onHelp: () => void, isTyped: boolean): Entry[] {
  const navigate = useNavigate();
  const { hasScope } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const actions: (Entry & { isAllowed?: boolean })[] = [
    {
      key: 'submit',
      title: 'Submit task',
      isAllowed: hasScope('tasks:write'),
      act: () => void navigate({ to: '/orchestration', search: { submit: 'yes' } }),
    },
    {
      key: 'needs-me',
      title: 'Show runs that need me',
      act: () => void navigate({ to: '/orchestration', search: { needs: 'me' } }),
    },
    {
      key: 'create-webhook',
      title: 'Create webhook',
      isAllowed: hasScope('webhooks:write'),
      act: () => void navigate({ to: '/settings/integrations/webhooks/new' }),
    },
    ...(['light', 'dark', 'auto'] as const).map((scheme) => ({
      key: `theme-${scheme}`,
      title: SCHEMES[scheme],
      isAllowed: isTyped,
      act: () => setColorScheme(scheme),
    })),
    { key: 'help', title: 'Keyboard shortcuts', act: onHelp },
  ];
  return actions.filter(({ isAllowed = true }) => isAllowed);
}

function usePages(): Entry[] {
  const navigate = useNavigate();
  return [...PAGES, { to: '/settings/account' as const, title: 'Your account' }].map(({ to, title }) => ({
    key: `page-${to}`,
    title,
    act: () => void navigate({ to }),
  }));
}

function useRuns(typed: string, words: string) {
  const navigate = useNavigate();
  const query = useQuery({ ...runsQuery(words), placeholderData: keepPreviousData });
  const { data = [], isFetching, isPlaceholderData, error } = query;
  // Until the result is there, Enter must not open an earlier one that does not match.
  const isOfTyped = typed.trim() === words && !isPlaceholderData;
  const matching = data.filter(({ title }) => isOfTyped || matchesWords(typed, title));
  const entries = matching.map(
    (run): Entry => ({
      key: `run-${run.execution_id}`,
      title: run.title,
      detail: run.task_type,
      status: shownStateOf(run),
      act: () =>
        void navigate({ to: '/orchestration/$executionId', params: { executionId: run.execution_id } }),
    }),
  );
  return { entries, isSearching: isFetching, error };
}

/** The matching webhooks; none without a text, as there may be many. */
function useWebhooks(typed: string): Entry[] {
  const navigate = useNavigate();
  const { hasScope } = useSession();
  const { data = [] } = useQuery({ ...webhooksQuery, enabled: hasScope('webhooks:read'), staleTime: 5_000 });
  if (typed.trim() === '') return [];
  return data
    .filter((webhook) => webhook.id === typed.trim() || matchesWords(typed, `${webhook.name} ${webhook.url}`))
    .slice(0, MOST_WEBHOOKS)
    .map((webhook) => ({
      key: `webhook-${webhook.id}`,
      title: webhook.name,
      detail: webhook.url,
      status: webhook.status,
      act: () =>
        void navigate({
          to: '/settings/integrations/webhooks/$webhookId',
          params: { webhookId: webhook.id },
        }),
    }));
}

function useDeliveries(typed: string, words: string) {
  const navigate = useNavigate();
  const { hasScope } = useSession();
  const mayRead = hasScope('webhooks:read');
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: mayRead, staleTime: 5_000 });
  const query = deliveriesQuery(words, webhooks ?? []);
  const {
    data = [],
    isFetching,
    error,
  } = useQuery({
    ...query,
    enabled: query.enabled === true && webhooks !== undefined,
  });
  const isOfTyped = typed.trim() === words;
  const matching = data.filter(({ about }) => isOfTyped || matchesWords(typed, about ?? ''));
  const entries = matching.map(
    (delivery): Entry => ({
      key: `delivery-${delivery.id}`,
      title: delivery.about ?? delivery.id,
      detail: delivery.event,
      status: delivery.status,
      act: () =>
        void navigate({
          to: '/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId',
          params: { webhookId: delivery.webhook_id, deliveryId: delivery.id },
        }),
    }),
  );
  return { entries, isSearching: isFetching, error };
}
