// Names of people are looked up only for steps of the tenant in which they are valid: in the other one they may be strangers.
import { sameName } from '../../base/text/same-name.ts'
import { conditionsIn } from './condition-rules.ts'
import { nodeAt, type Outline, type StepOutline, scalarAt, textAt } from './outline.ts'
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
    const uses = [...(params ? namesOfPeople(params) : []), ...namesInConditions({ node, path })]
    for (const { name, at } of uses) {
      if (!people) findings.add('NO_PEOPLE', at, path, { name })
      else if (target !== null && worker !== null && !sameName(target, worker))
        findings.add('PEOPLE_ELSEWHERE', at, path, { name, target, worker })
    }
  }
}

interface PeopleUse {
  readonly name: string
  readonly at: ScalarNode
}

const namesInConditions = (step: Pick<StepOutline, 'node' | 'path'>): PeopleUse[] =>
  conditionsIn(step).flatMap(({ node }) => {
    const at = scalarAt(node, 'variable')
    return at && peopleNameIn(String(at.value)) ? [{ name: String(at.value), at }] : []
  })

function namesOfPeople(node: Node): PeopleUse[] {
  if (node.kind === 'list') return node.items.flatMap(namesOfPeople)
  if (node.kind === 'map')
    return [...node.entries.values()].flatMap(({ value }) => namesOfPeople(value))
  if (typeof node.value !== 'string') return []
  return scanTemplate(node.value).parts.flatMap((part) =>
    typeof part === 'object' && peopleNameIn(part.name) ? [{ name: part.name, at: node }] : [],
  )
}
