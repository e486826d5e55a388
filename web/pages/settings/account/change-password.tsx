import { PasswordInput, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { MIN_PASSWORD_LENGTH } from '../../../../src/domain/common/limits.ts';
import { passwordChange } from '../../../../src/domain/people/person-fields.ts';
import { unwrap, api } from '../../../api/client.ts';
import { FormFooter } from '../../../forms/form-footer.tsx';
import { useApiForm } from '../../../forms/use-api-form.ts';

const visibilityToggle = { 'aria-label': 'Show or hide password' };

/** Changes the password. All other sessions end. */
export function ChangePassword() {
  const queryClient = useQueryClient();
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: { current_password: '', new_password: '' },
    schema: passwordChange,
    bodyOf: (values) => values,
    send: (body) => unwrap(api.PUT('/api/v1/me/password', { body })),
    onDone() {
      form.reset();
      void queryClient.invalidateQueries({ queryKey: ['sessions'] });
      notifications.show({
        title: 'Password changed',
        message: 'All other sessions have ended.',
      });
    },
  });
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack gap="sm" maw={420}>
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          visibilityToggleButtonProps={visibilityToggle}
          {...form.getInputProps('current_password')}
        />
        <PasswordInput
          label="New password"
          description={`At least ${MIN_PASSWORD_LENGTH} characters`}
          autoComplete="new-password"
          visibilityToggleButtonProps={visibilityToggle}
          {...form.getInputProps('new_password')}
        />
        <FormFooter submitLabel="Change password" isSending={isSending} problem={problem} />
      </Stack>
    </form>
  );
}
