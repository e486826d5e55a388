import { Button, Group, Textarea } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ErrorText } from './states.tsx';

type AnswerFormProps = {
  submitLabel: string;
  /** Whether the field gets the focus when it appears. */
  hasFocus?: boolean;
  /** The maximum length of an answer, in characters. */
  maxLength: number;
  onSubmit: (answer: string) => void;
  isPending: boolean;
  error: unknown;
};

/** The field and the button to answer an agent. */
export function AnswerForm(props: AnswerFormProps) {
  const { submitLabel, hasFocus = false, maxLength, onSubmit, isPending, error } = props;
  const [answer, setAnswer] = useState('');
  const text = answer.trim();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (hasFocus) field.current?.focus();
  }, [hasFocus]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== '' && !isPending) onSubmit(text);
      }}
    >
      <Textarea
        ref={field}
        label="Your answer"
        autosize
        minRows={2}
        maxRows={8}
        required
        maxLength={maxLength}
        value={answer}
        onChange={(event) => setAnswer(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
            event.currentTarget.form?.requestSubmit();
        }}
      />
      <Group justify="flex-end" mt="xs">
        <ErrorText error={error} />
        <Button type="submit" size="xs" loading={isPending} disabled={text === ''}>
          {submitLabel}
        </Button>
      </Group>
    </form>
  );
}
