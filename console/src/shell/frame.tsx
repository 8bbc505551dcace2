// The frame of a console: the menu, the theme, the current page, and the sign-in over it when a session has ended.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, onSignedOut } from '../api/request.ts';
import { Button, Select } from '../kit/controls.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Problem } from '../kit/notices.tsx';
import { applyTheme, chosenTheme, type Theme, themes } from '../kit/theme.ts';
import { signedInAgain } from '../kit/use-resource.ts';
import type { PageProps, Pages } from './page-entry.ts';
import { addressTo, useAddress } from './router.ts';

interface FrameProps {
  readonly brand: string;
  /** The name of the server in messages: `node`. */
  readonly server: string;
  /** Who is signed in. */
  readonly caller: string;
  readonly pages: Pages;
  readonly SignIn: ComponentType<{ onSignedIn: () => void }>;
  readonly onSignOut: () => void;
  /** The session has ended, and nobody signed in again. */
  readonly onEnd: () => void;
}

export function Frame({ brand, server, caller, pages, SignIn, onSignOut, onEnd }: FrameProps) {
  const address = useAddress();
  const name = address.page || (Object.keys(pages)[0] as string);
  const current = entryOf(pages, name)?.within ?? name;
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isSignedOut, setSignedOut] = useState(false);
  useEffect(() => onSignedOut(() => setSignedOut(true)), []);
  const main = useRef<HTMLElement>(null);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.querySelector('h1')?.focus()}>
        Skip to the content
      </button>
      <header>
        <span class="menu">
          <Button onClick={() => setMenuOpen(!isMenuOpen)} expanded={isMenuOpen}>
            Menu
          </Button>
        </span>
        <p class="brand">{brand}</p>
        <span class="quiet">{caller}</span>
        <a href="/docs">Manual</a>
        <a href="/docs/api">REST API</a>
        <ThemeChoice />
        <Button onClick={onSignOut}>Sign out</Button>
      </header>
      <nav aria-label="Pages" class={isMenuOpen ? 'open' : ''}>
        <ul>
          {entriesOf(pages).map(([entry, { title }]) => (
            <li key={entry}>
              <a
                href={addressTo([entry])}
                aria-current={entry === current ? 'page' : undefined}
                onClick={() => setMenuOpen(false)}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main ref={main}>
        <CurrentPage key={name} name={name} address={address} pages={pages} brand={brand} server={server} />
      </main>
      {isSignedOut && (
        <Dialog title="The session has ended: sign in again" onClose={onEnd}>
          <SignIn
            onSignedIn={() => {
              setSignedOut(false);
              dispatchEvent(new Event(signedInAgain));
            }}
          />
        </Dialog>
      )}
    </div>
  );
}

/** Only own members: every object inherits others, such as `constructor`. */
const entryOf = (pages: Pages, name: string) => (Object.hasOwn(pages, name) ? pages[name] : undefined);

const entriesOf = (pages: Pages) => Object.entries(pages).filter(([, { within }]) => within === undefined);

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(chosenTheme());
  const change = (value: string) => {
    const chosen = themes.find((each) => each === value) ?? 'system';
    applyTheme(chosen);
    setTheme(chosen);
  };
  const names = { system: 'System colours', light: 'Light', dark: 'Dark' };
  return (
    <Select
      label="Theme"
      value={theme}
      onChange={change}
      options={themes.map((each) => [each, names[each]] as const)}
    />
  );
}

interface CurrentPageProps extends PageProps {
  readonly name: string;
  readonly pages: Pages;
  readonly brand: string;
  readonly server: string;
}

function CurrentPage({ name, address, pages, brand, server }: CurrentPageProps) {
  const [Content, setContent] = useState<ComponentType<PageProps>>();
  const [problem, setProblem] = useState<ApiError>();
  const entry = entryOf(pages, name);
  useEffect(() => {
    document.title = entry ? `${entry.title} · ${brand}` : brand;
    entry?.load().then(
      (module) => setContent(() => module.Content),
      () => setProblem(new ApiError(0, `The page could not be loaded: the ${server} does not answer.`)),
    );
  }, [entry]);
  useEffect(() => {
    if (Content) document.querySelector<HTMLElement>('main h1')?.focus();
  }, [Content]);
  if (!entry) return <p>There is no page “{name}”.</p>;
  if (problem) return <Problem problem={problem} />;
  return Content ? <Content address={address} /> : <p class="quiet">Loading…</p>;
}
