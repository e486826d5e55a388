import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { PROVIDERS, type ProviderName } from './agent-settings.ts';

/** Base URLs and API keys of the providers, from the environment only. */
export type ProviderSettings = {
  openai: { apiKey: string | null; baseUrl: string | null };
  anthropic: { apiKey: string | null; baseUrl: string | null };
  openaiCompatible: { apiKey: string | null; baseUrl: string | null };
};

/** The available models, by `provider/model`. */
export type Models = {
  /** @throws ModelUnavailable if the environment lacks a setting of the provider */
  get(name: string): LanguageModelV4;
  /** Returns a text without the providers' API keys. */
  withoutKeys(text: string): string;
  close(): Promise<void>;
};

/** A model that is not configured. The message names it and the missing variable. */
export class ModelUnavailable extends Error {
  override name = 'ModelUnavailable';
}

/** The environment variable of each provider's API key. */
export const KEY_VARIABLES: Readonly<Record<ProviderName, string>> = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  'openai-compatible': 'OPENAI_COMPATIBLE_API_KEY',
};

/**
 * Splits `provider/model` at its first slash.
 * @throws ModelUnavailable for an unknown provider
 */
export function splitModelName(name: string): { provider: ProviderName; model: string } {
  const [first = '', ...rest] = name.split('/');
  const provider = PROVIDERS.find((known) => known === first);
  if (!provider || rest.length === 0) {
    throw new ModelUnavailable(`"${name}" is not a model: use provider/model with ${PROVIDERS.join(' or ')}`);
  }
  return { provider, model: rest.join('/') };
}

/** The `fetch` of model calls: it limits responses. `close` ends its connections. */
type ProviderFetch = { fetch: typeof globalThis.fetch; close(): Promise<void> };

/** Creates the models of the configured providers. */
export function createModels(access: ProviderSettings, { fetch, close }: ProviderFetch): Models {
  const known = new Map<string, LanguageModelV4>();
  const { openai, anthropic, openaiCompatible } = access;
  const keys = [openai, anthropic, openaiCompatible].flatMap(({ apiKey }) =>
    apiKey === null ? [] : [apiKey],
  );
  return {
    get(name) {
      const model = known.get(name) ?? open(name, access, fetch);
      known.set(name, model);
      return model;
    },
    withoutKeys: (text) => keys.reduce((safe, key) => safe.replaceAll(key, '[key]'), text),
    close,
  };
}

function open(name: string, access: ProviderSettings, fetch: typeof globalThis.fetch): LanguageModelV4 {
  const { provider, model } = splitModelName(name);
  const needs = (value: string | null, variable: string): string => {
    if (value === null) throw new ModelUnavailable(`${name} is not configured: ${variable} is not set`);
    return value;
  };
  switch (provider) {
    case 'openai': {
      const { apiKey, baseUrl } = access.openai;
      const settings = { apiKey: needs(apiKey, KEY_VARIABLES.openai), fetch };
      // Gateways support this protocol too.
      return createOpenAI({ ...settings, ...(baseUrl === null ? {} : { baseURL: baseUrl }) }).chat(model);
    }
    case 'anthropic': {
      const { apiKey, baseUrl } = access.anthropic;
      const settings = { apiKey: needs(apiKey, KEY_VARIABLES.anthropic), fetch };
      return createAnthropic({ ...settings, ...(baseUrl === null ? {} : { baseURL: baseUrl }) })(model);
    }
    case 'openai-compatible': {
      const { apiKey, baseUrl } = access.openaiCompatible;
      return createOpenAICompatible({
        name: 'openai-compatible',
        baseURL: needs(baseUrl, 'OPENAI_COMPATIBLE_BASE_URL'),
        fetch,
        ...(apiKey === null ? {} : { apiKey }),
      }).chatModel(model);
    }
  }
}
