// The state of a form: the values of its fields, and the request that sends them.
import { useState } from 'preact/hooks';
import { type Action, useAction } from './use-resource.ts';

/** In place of the name of a field in a refusal: the problem is one of the whole request. */
export const wholeRequest = '_';

/** The names of the members of `V` whose type is `T`. */
type NamesOf<V, T> = { [N in keyof V]: V[N] extends T ? N & string : never }[keyof V];

export interface FormState<V> extends Action {
  readonly values: V;
  set<N extends keyof V>(name: N, value: V[N]): void;
  /** What a `Field` needs. A field has the name that the REST API gives it, so that a refusal appears beside it. */
  text(name: NamesOf<V, string>): {
    readonly value: string;
    readonly onInput: (value: string) => void;
    readonly problem: string | undefined;
  };
  /** What a `Select` needs. */
  choice(name: NamesOf<V, string>): {
    readonly value: string;
    readonly onChange: (value: string) => void;
    readonly problem: string | undefined;
  };
  /** What a `Checkbox` needs. */
  flag(name: NamesOf<V, boolean>): {
    readonly checked: boolean;
    readonly onChange: (checked: boolean) => void;
  };
  problemOf(field: string): string | undefined;
}

export function useForm<V extends object>(initial: V): FormState<V> {
  const [values, setValues] = useState(initial);
  const action = useAction();
  const change = (name: string) => (value: unknown) => setValues((old) => ({ ...old, [name]: value }));
  const problemOf = (field: string) => action.problem?.fields[field];
  return {
    ...action,
    values,
    problemOf,
    set: (name, value) => change(name as string)(value),
    text: (name) => ({
      value: values[name] as string,
      onInput: change(name),
      problem: problemOf(name),
    }),
    choice: (name) => ({
      value: values[name] as string,
      onChange: change(name),
      problem: problemOf(name),
    }),
    flag: (name) => ({ checked: values[name] as boolean, onChange: change(name) }),
  };
}
