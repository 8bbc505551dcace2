// The dialogs that import JSON lines into a collection and export it, with progress.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Checkbox, Field, FileField } from '../kit/controls.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Form } from '../kit/form.tsx';
import { count, size } from '../kit/format.ts';
import { Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useForm } from '../kit/use-form.ts';
import { type ExportState, exportLines } from './document-export.ts';
import { type ImportState, importLines, type Refusal } from './document-import.ts';
import type { CollectionPath } from './document-pages.ts';

const keyFieldDefault = '_key';

interface TransferProps {
  readonly path: CollectionPath;
  readonly onClose: () => void;
}

export function ImportDialog({ path, onClose }: TransferProps) {
  const form = useForm({ keyField: keyFieldDefault, dropsKey: true });
  const [file, setFile] = useState<File>();
  const [state, setState] = useState<ImportState>();
  const work = useCancellable();
  const submit = () => work.run((signal) => importLines(file as File, path, form.values, signal, setState));
  return (
    <Dialog title={`Import into ${path.collection}`} onClose={work.isRunning ? work.cancel : onClose}>
      <Form
        action={form}
        onSubmit={submit}
        buttons={
          <Buttons
            action="Import"
            isRunning={work.isRunning}
            isReady={file !== undefined && form.values.keyField !== ''}
            onCancel={work.cancel}
            onClose={onClose}
          />
        }
      >
        <FileField label="File of JSON lines: one document on each line" onFile={setFile} />
        <Field
          label="Field that has the key"
          {...form.text('keyField')}
          required
          hint="Documents with a key that exists are replaced."
        />
        <Checkbox label="Store the documents without this field" {...form.flag('dropsKey')} />
        {work.isRunning && <Progress label="Import" share={state?.share ?? 0} />}
        <p role="status">{state && importText(state, work)}</p>
        {state && state.refused > 0 && (
          <Table
            caption="Refused lines"
            columns={refusalColumns}
            rows={state.refusals}
            rowKey={({ line }) => String(line)}
            empty=""
            pageRows={10}
          />
        )}
      </Form>
    </Dialog>
  );
}

const refusalColumns: readonly Column<Refusal>[] = [
  { label: 'Line', value: ({ line }) => count(line) },
  { label: 'Problem', value: ({ problem }) => problem },
];

function importText({ written, refused }: ImportState, { isRunning, isCancelled }: Cancellable): string {
  const figures = `${count(written)} documents stored, ${count(refused)} lines refused`;
  if (isCancelled) return `Cancelled: ${figures}. What was stored stays.`;
  return isRunning ? `${figures} so far` : `${figures}.`;
}

export function ExportDialog({ path, prefix, onClose }: TransferProps & { readonly prefix: string }) {
  const form = useForm({ keyField: keyFieldDefault });
  const [state, setState] = useState<ExportState>();
  const [address, setAddress] = useState<string>();
  const work = useCancellable();
  useEffect(() => () => (address === undefined ? undefined : URL.revokeObjectURL(address)), [address]);
  const submit = () =>
    work.run(async (signal) => {
      setAddress(undefined);
      const file = await exportLines(path, prefix, form.values.keyField, signal, setState);
      setAddress(URL.createObjectURL(file));
    });
  const name = `${path.bucket}.${path.scope}.${path.collection}.jsonl`;
  return (
    <Dialog title={`Export ${path.collection}`} onClose={work.isRunning ? work.cancel : onClose}>
      <Form
        action={form}
        onSubmit={submit}
        buttons={
          <Buttons
            action="Export"
            isRunning={work.isRunning}
            isReady={form.values.keyField !== ''}
            onCancel={work.cancel}
            onClose={onClose}
          />
        }
      >
        {prefix !== '' && (
          <p>
            Only documents whose keys begin with <strong class="mono">{prefix}</strong>.
          </p>
        )}
        <Field label="Field for the key" {...form.text('keyField')} required />
        <p role="status">{state && exportText(state, work)}</p>
        {address && (
          <p>
            <a href={address} download={name}>
              Save {name}
            </a>
          </p>
        )}
      </Form>
    </Dialog>
  );
}

function exportText(
  { written, leftOut, bytes }: ExportState,
  { isRunning, isCancelled }: Cancellable,
): string {
  if (isCancelled) return 'Cancelled.';
  const others = leftOut === 0 ? '' : `; ${count(leftOut)} that are not JSON objects are left out`;
  return `${count(written)} documents, ${size(bytes)}${others}${isRunning ? ' so far' : '.'}`;
}

interface ButtonsProps {
  readonly action: string;
  readonly isRunning: boolean;
  readonly isReady: boolean;
  readonly onCancel: () => void;
  readonly onClose: () => void;
}

function Buttons({ action, isRunning, isReady, onCancel, onClose }: ButtonsProps) {
  return (
    <div class="row end">
      {isRunning ? (
        <Button onClick={onCancel}>Cancel</Button>
      ) : (
        <>
          <Button onClick={onClose}>Close</Button>
          <Button submit kind="main" disabled={!isReady}>
            {action}
          </Button>
        </>
      )}
    </div>
  );
}

interface Cancellable {
  readonly isRunning: boolean;
  readonly isCancelled: boolean;
  run(work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  cancel(): void;
}

/** Work that ends when it is cancelled, or when its dialog closes. */
function useCancellable(): Cancellable {
  const [state, setState] = useState({ isRunning: false, isCancelled: false });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  return {
    ...state,
    cancel: () => abort.current?.abort(),
    async run(work) {
      const controller = new AbortController();
      abort.current = controller;
      setState({ isRunning: true, isCancelled: false });
      try {
        await work(controller.signal);
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      } finally {
        setState({ isRunning: false, isCancelled: controller.signal.aborted });
      }
    },
  };
}
