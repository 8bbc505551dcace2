// Numbers with units, and times in the viewer's zone.

const counts = new Intl.NumberFormat('en');
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export const count = (value: number | undefined): string => counts.format(Math.round(value ?? 0));

export const percent = (value: number | undefined): string => `${Math.round(value ?? 0)} %`;

/** The time of a number of milliseconds since 1970, or of a text that has its zone. */
export const time = (at: number | string): string => times.format(new Date(at));

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function size(bytes: number | undefined): string {
  const value = bytes ?? 0;
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10));
  const scaled = value / 1024 ** step;
  return `${scaled.toFixed(step > 0 && Math.abs(scaled) < 10 ? 1 : 0)} ${units[step]}`;
}

export function duration(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60].map(
    Math.floor,
  );
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min`;
}

const services: Readonly<Record<string, string>> = {
  kv: 'data',
  index: 'index',
  n1ql: 'query',
  fts: 'search',
  cbas: 'analytics',
  eventing: 'eventing',
  backup: 'backup',
};

export const serviceName = (name: string): string => services[name] ?? name;
