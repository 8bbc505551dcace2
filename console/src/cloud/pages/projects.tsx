// Projects: list, create, delete.
import { useState } from 'preact/hooks';
import { Button, Field } from '../../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../../kit/dialog.tsx';
import { time } from '../../kit/format.ts';
import { Page } from '../../kit/notices.tsx';
import type { Column } from '../../kit/table.tsx';
import { useForm } from '../../kit/use-form.ts';
import { addressTo } from '../../shell/router.ts';
import { call } from '../api/client.ts';
import { type Project, routes } from '../api/routes.ts';
import { PagedTable, usePaged } from '../paged.tsx';

type OpenDialog = { readonly dialog: 'create' } | { readonly dialog: 'delete'; readonly project: Project };

export function Content() {
  const projects = usePaged((query, signal) =>
    call(routes.projects, { query: { ...query, sortBy: 'name.asc' }, signal }),
  );
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    projects.reload();
  };
  const columns: readonly Column<Project>[] = [
    { label: 'Name', value: ({ id, name }) => <a href={addressTo(['clusters'], { project: id })}>{name}</a> },
    { label: 'Created', value: ({ createdAt }) => time(createdAt) },
    { label: 'Id', value: ({ id }) => <span class="mono">{id}</span> },
    {
      label: 'Actions',
      value: (project) => (
        <Button
          kind="danger"
          label={`Delete ${project.name}`}
          onClick={() => setOpen({ dialog: 'delete', project })}
        >
          Delete
        </Button>
      ),
    },
  ];
  return (
    <Page
      title="Projects"
      actions={
        <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
          Create project
        </Button>
      }
    >
      <PagedTable
        caption="Projects"
        columns={columns}
        paged={projects}
        rowKey={({ id }) => id}
        empty="There are no projects. Create one: every cluster belongs to a project."
      />
      {open?.dialog === 'create' && <CreateDialog onClose={close} />}
      {open?.dialog === 'delete' && (
        <ConfirmByName
          title="Delete the project"
          name={open.project.name}
          action="Delete project"
          onConfirm={() => call(routes.deleteProject, { path: { id: open.project.id } })}
          onClose={close}
        >
          A project can be deleted once it has no clusters. Tokens for this project have no rights afterwards.
        </ConfirmByName>
      )}
    </Page>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const form = useForm({ name: '' });
  return (
    <FormDialog
      title="Create a project"
      action="Create"
      form={form}
      onSubmit={() => call(routes.createProject, { body: form.values })}
      onClose={onClose}
    >
      <Field label="Project name" {...form.text('name')} required />
    </FormDialog>
  );
}
