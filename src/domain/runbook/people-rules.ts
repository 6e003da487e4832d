// Names of people are looked up only for steps of the tenant in which they are valid: in the other one they may be strangers.
import { sameName } from '../../base/text/same-name.ts'
import { nodeAt, type Outline, type StepOutline, textAt } from './outline.ts'
import type { Findings } from './problems.ts'
import { peopleNameIn, scanTemplate } from './template.ts'
import type { Node, ScalarNode } from './tree.ts'

export function checkPeople(
  { people }: Pick<Outline, 'people'>,
  steps: readonly StepOutline[],
  findings: Findings,
): void {
  const target = textAt(people, 'worker_id')
  for (const { node, path } of steps) {
    const worker = textAt(node, 'worker_id')
    const params = nodeAt(node, 'params')
    if (!params) continue
    for (const { name, at } of namesOfPeople(params)) {
      if (!people) findings.add('NO_PEOPLE', at, `${path}.params`, { name })
      else if (target !== null && worker !== null && !sameName(target, worker))
        findings.add('PEOPLE_ELSEWHERE', at, `${path}.params`, { name, target, worker })
    }
  }
}

function namesOfPeople(node: Node): { name: string; at: ScalarNode }[] {
  if (node.kind === 'list') return node.items.flatMap(namesOfPeople)
  if (node.kind === 'map')
    return [...node.entries.values()].flatMap(({ value }) => namesOfPeople(value))
  if (typeof node.value !== 'string') return []
  return scanTemplate(node.value).parts.flatMap((part) =>
    typeof part === 'object' && peopleNameIn(part.name) ? [{ name: part.name, at: node }] : [],
  )
}
