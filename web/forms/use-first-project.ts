import { useEffect } from 'react';
import { useProjects } from '../api/projects.ts';

type ProjectForm = {
  values: { project_id: string };
  setFieldValue(path: 'project_id', value: string): void;
};

/** Selects the newest project in a form in which none is selected, also if the projects arrive after the form. */
export function useFirstProject(form: ProjectForm): void {
  const { projects } = useProjects();
  const first = projects[0]?.id;
  const isEmpty = form.values.project_id === '';
  useEffect(() => {
    if (isEmpty && first !== undefined) form.setFieldValue('project_id', first);
  }, [form, isEmpty, first]);
}
