import { Button, Group, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { errorMessage } from './states.tsx';

type AnswerFormProps = {
  submitLabel: string;
  /** The maximum length of an answer, in characters. */
  maxLength: number;
  onSubmit: (answer: string) => void;
  isPending: boolean;
  error: unknown;
};

/** The field and the button to answer an agent. */
export function AnswerForm({ submitLabel, maxLength, onSubmit, isPending, error }: AnswerFormProps) {
  const [answer, setAnswer] = useState('');
  const text = answer.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== '' && !isPending) onSubmit(text);
      }}
    >
      <Textarea
        label="Your answer"
        autosize
        minRows={2}
        maxRows={8}
        required
        maxLength={maxLength}
        value={answer}
        onChange={(event) => setAnswer(event.currentTarget.value)}
      />
      <Group justify="flex-end" mt="xs">
        {error ? (
          <Text role="alert" size="sm" c="var(--mantine-color-error)">
            {errorMessage(error)}
          </Text>
        ) : null}
        <Button type="submit" size="xs" loading={isPending} disabled={text === ''}>
          {submitLabel}
        </Button>
      </Group>
    </form>
  );
}
