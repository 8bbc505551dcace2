// A JSON value as a tree whose parts are opened one by one; what is closed is not in the page.
import { useState } from 'preact/hooks';
import { isRawJson } from '../../../src/base/exact-json.ts';
import { Button } from './controls.tsx';

/** Members shown at once, and how many more a button adds. */
const membersShown = 100;
const textCharsMax = 2_000;

export function Tree({ name, value, isOpen = false }: { name: string; value: unknown; isOpen?: boolean }) {
  const [opened, setOpened] = useState(isOpen);
  if (typeof value !== 'object' || value === null || isRawJson(value))
    return (
      <li>
        <span class="quiet">{name}: </span>
        {leafText(value)}
      </li>
    );
  const members = Object.entries(value);
  const summary = Array.isArray(value) ? `${members.length} items` : `${members.length} fields`;
  return (
    <li>
      <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
        <summary>
          {name} <span class="quiet">({summary})</span>
        </summary>
        {opened && <Members members={members} />}
      </details>
    </li>
  );
}

function Members({ members }: { members: readonly (readonly [string, unknown])[] }) {
  const [shown, setShown] = useState(membersShown);
  const hidden = members.length - shown;
  return (
    <ul class="tree">
      {members.slice(0, shown).map(([name, value]) => (
        <Tree key={name} name={name} value={value} />
      ))}
      {hidden > 0 && (
        <li>
          <Button onClick={() => setShown(shown + membersShown)}>Show more ({hidden} left)</Button>
        </li>
      )}
    </ul>
  );
}

function leafText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax)}…` : text;
}
