// The fields that the documents of a collection have, inferred from a sample.
import { useState } from 'preact/hooks';
import { Button, Field } from '../kit/controls.tsx';
import { Problem } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction } from '../kit/use-resource.ts';
import { runStatement } from './query-run.ts';

interface InferredField {
  readonly name: string;
  readonly types: string;
  readonly percent: number;
  readonly samples: string;
}

interface Property {
  readonly type: string | readonly string[];
  readonly '%docs'?: number;
  readonly samples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Property>>;
}

export function InferredFields() {
  const [collection, setCollection] = useState('');
  const [found, setFound] = useState<readonly InferredField[]>();
  const action = useAction();
  const infer = async () => {
    const { rows } = await runStatement(`INFER ${collection}`, '', new AbortController().signal);
    const flavors = (rows[0] ?? []) as readonly Property[];
    setFound(flavors.flatMap(({ properties = {} }) => fieldsOf(properties, '')));
  };
  return (
    <details>
      <summary>Fields of a collection</summary>
      <form
        class="row fields"
        onSubmit={(event) => {
          event.preventDefault();
          void action.run(infer);
        }}
      >
        <Field
          label="Collection"
          value={collection}
          onInput={setCollection}
          mono
          hint="As in a statement: travel or travel.inventory.airline"
        />
        <div class="row">
          <Button submit disabled={collection === '' || action.isBusy}>
            Infer fields
          </Button>
        </div>
      </form>
      <Problem problem={action.problem} />
      {found && (
        <Table
          caption="Fields"
          columns={columns}
          rows={found}
          rowKey={({ name, types, samples }) => `${name} ${types} ${samples}`}
          empty="The collection has no documents with fields."
        />
      )}
    </details>
  );
}

function fieldsOf(properties: Readonly<Record<string, Property>>, prefix: string): InferredField[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    const types = [property.type].flat().join(', ');
    const samples = (property.samples ?? []).slice(0, 3).map((sample) => JSON.stringify(sample));
    const field = { name: path, types, percent: property['%docs'] ?? 0, samples: samples.join(', ') };
    return [field, ...fieldsOf(property.properties ?? {}, `${path}.`)];
  });
}

const columns: readonly Column<InferredField>[] = [
  { label: 'Field', value: ({ name }) => <span class="mono">{name}</span> },
  { label: 'Type', value: ({ types }) => types },
  { label: 'In documents', isNumber: true, value: ({ percent }) => `${percent} %` },
  { label: 'Samples', value: ({ samples }) => <span class="mono">{samples}</span> },
];
