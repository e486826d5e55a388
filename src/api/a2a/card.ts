import { A2A_PROTOCOL_VERSION, AgentCard } from '@a2a-js/sdk';
import type { Catalogue } from '../../agents/catalogue.ts';
import { TASK_TYPES, type TaskType } from '../../domain/tasks/task-run.ts';

/** The path of both bindings. */
export const A2A_PATH = '/a2a';

const DESCRIPTION =
  'Runs tasks durably with teams of agents. Send the task as text; its first line is the title. The task type selects the team: name it in the metadata as `task_type`, or leave it out for a feature. Follow the task, answer its questions, and read its artifacts.';

const SKILLS: Readonly<Record<TaskType, { name: string; description: string; example: string }>> = {
  feature: {
    name: 'Build a feature',
    description: 'Designs and builds something new.',
    example: 'Add a dark mode to the settings page.',
  },
  bug: {
    name: 'Fix a bug',
    description: 'Finds the cause of wrong behaviour and fixes it.',
    example: 'The export fails for names with an apostrophe.',
  },
  spec: {
    name: 'Write a specification',
    description: 'Describes what to build, before it is built.',
    example: 'Specify how users share a folder.',
  },
  chore: {
    name: 'Do a chore',
    description: 'Does maintenance that changes no behaviour.',
    example: 'Update the dependencies.',
  },
};

type CardOptions = { baseUrl: string; version: string };

/** Returns the public agent card as JSON: one skill for each task type. */
export function agentCard(options: CardOptions): AgentCard {
  return cardWith(options, (type) => SKILLS[type].description);
}

/** Returns the card for authenticated callers, whose skills also name the steps and the agents of the teams. */
export function extendedCard(options: CardOptions, { teams }: Pick<Catalogue, 'teams'>): AgentCard {
  return cardWith(options, (type) => {
    const steps = teams[type].map(({ name, agent }) => `${name} (${agent})`);
    return `${SKILLS[type].description} Steps: ${steps.join(', ')}.`;
  });
}

function cardWith({ baseUrl, version }: CardOptions, describe: (type: TaskType) => string): AgentCard {
  const url = `${baseUrl}${A2A_PATH}`;
  const modes = ['text/plain', 'application/json'];
  return AgentCard.fromJSON({
    name: 'Baton',
    description: DESCRIPTION,
    version,
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: A2A_PROTOCOL_VERSION,
    })),
    documentationUrl: `${baseUrl}/docs`,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    securitySchemes: {
      apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key', description: 'An API key' } },
      token: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    },
    // One of them is enough.
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }, { schemes: { token: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: TASK_TYPES.map((type) => ({
      id: type,
      name: SKILLS[type].name,
      description: describe(type),
      tags: [type],
      examples: [SKILLS[type].example],
    })),
  });
}
