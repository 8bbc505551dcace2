// The services that a node shall run.
import { Checkbox } from '../kit/controls.tsx';
import { serviceName } from '../kit/format.ts';

export const offeredServices: readonly string[] = ['kv', 'n1ql', 'index'];

interface ServicesChoiceProps {
  readonly chosen: readonly string[];
  readonly onChange: (services: readonly string[]) => void;
}

export function ServicesChoice({ chosen, onChange }: ServicesChoiceProps) {
  const choose = (service: string, isChosen: boolean) =>
    onChange(offeredServices.filter((each) => (each === service ? isChosen : chosen.includes(each))));
  return (
    <fieldset>
      <legend>Services</legend>
      {offeredServices.map((service) => (
        <Checkbox
          key={service}
          label={serviceName(service)}
          checked={chosen.includes(service)}
          onChange={(isChosen) => choose(service, isChosen)}
        />
      ))}
    </fieldset>
  );
}
