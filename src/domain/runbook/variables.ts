// Checks where every variable comes from. A step sees batch variables, outputs of init steps, outputs of earlier steps (phases
// by time, then by file order) and columns of the data source. If the columns are unknown, a name without another origin counts
// as a column. Rollbacks are checked for the earliest step that uses them.

import { RESERVED_NAMES } from '../../base/text/json.ts'
import { hintFor } from '../../base/text/spelling.ts'
import { FORMER_VARIABLES, START_VARIABLES } from '../member-messages/message-text.ts'
import { foldKey } from '../state/member-key.ts'
import { conditionsIn } from './condition-rules.ts'
import {
  entriesAt,
  mapsOf,
  nodeAt,
  type Outline,
  type RollbackOutline,
  type StepOutline,
  scalarAt,
  textAt,
  textsAt,
} from './outline.ts'
import type { Findings } from './problems.ts'
import { inOrder } from './steps.ts'
import { isSecretName, scanTemplate, type TemplateFault, variableIn } from './template.ts'
import type { MapNode, Node, ScalarNode } from './tree.ts'

export const BATCH_VARIABLES = ['_batch_id', '_batch_start_time'] as const

/** Names that no step and no person sets. All that begin with "_" are ours, so that a new built-in one shadows nothing. */
const isBuiltIn = (name: string): boolean =>
  name.trim().startsWith('_') || RESERVED_NAMES.includes(foldKey(name)) || isSecretName(name.trim())

/** Why a person may not set this variable of a member; null when they may. */
export function whyReserved(name: string, primaryKey: string): string | null {
  if (isBuiltIn(name)) return 'the name is reserved'
  if (foldKey(name) !== foldKey(primaryKey)) return null
  return "it is the column of the members' keys, so their jobs would run for another person"
}

/** Bounds how large a step's parameters can grow. */
const VARIABLES_PER_STEP_MAX = 1_000

interface Use {
  readonly name: string
  readonly node: ScalarNode
  readonly path: string
}

/** The first step in running order that outputs a variable. */
interface Provider {
  readonly name: string
  readonly index: number
  readonly place: string
}
/** By folded name. */
type Outputs = ReadonlyMap<string, Provider>

interface VariableCheck {
  readonly findings: Findings
  /** By folded name; null when the columns are unknown. */
  readonly columns: ReadonlyMap<string, string> | null
  readonly init: Outputs
  readonly phases: Outputs
  /** Uses in messages that were reported: several steps may send the same one. */
  readonly reported: Set<string>
}

export function checkVariables(
  outline: Outline,
  findings: Findings,
  fileColumns: readonly string[] | undefined,
): void {
  const declared = textsAt(outline.dataSource, 'columns').map(({ text }) => text)
  const columns = fileColumns ?? (declared.length > 0 ? declared : null)
  const phaseSteps = inRunningOrder(outline)
  const check: VariableCheck = {
    findings,
    columns: columns && new Map(columns.map((name) => [foldKey(name), name])),
    init: outputsOf(outline.init, () => 'init'),
    phases: outputsOf(phaseSteps, ({ phase }) => `phase "${phase}"`),
    reported: new Set(),
  }
  checkOutputs(outline, check)
  for (const [index, step] of outline.init.entries()) {
    checkInitUses(usesOf(step, findings), index, 'here', check)
  }
  for (const [index, step] of phaseSteps.entries()) {
    checkPhaseUses(usesOf(step, findings), index, 'here', check)
  }
  checkPhaseUses(usesOfPeople(outline.people, findings), AFTER_ALL, 'here', check)
  checkRemoval(outline.removal, check)
  const initUsers = firstUsers(outline.init)
  const phaseUsers = firstUsers(phaseSteps)
  for (const rollback of outline.rollbacks) checkRollback(rollback, initUsers, phaseUsers, check)
}

type PhaseStep = StepOutline & { readonly phase: string }

/** Phases by due time, then by file order, as they will run. */
const inRunningOrder = ({ phases }: Outline): PhaseStep[] =>
  inOrder(phases).flatMap(({ name, steps }) => steps.map((step) => ({ ...step, phase: name })))

function outputsOf<S extends StepOutline>(
  steps: readonly S[],
  place: (step: S) => string,
): Outputs {
  const outputs = new Map<string, Provider>()
  for (const [index, step] of steps.entries()) {
    for (const { key } of entriesAt(step.node, 'output_params')) {
      if (outputs.has(foldKey(key))) continue
      outputs.set(foldKey(key), {
        name: key,
        index,
        place: `step "${step.name}" of ${place(step)}`,
      })
    }
  }
  return outputs
}

// --- Templates of a step -------------------------------------------------------------------------

/** The variables that a step uses, each use on its own; faults of the templates are reported on the way. */
function usesOf({ node, path, texts }: StepOutline, findings: Findings): Use[] {
  const own = ['function', 'params', 'notify'].flatMap((key) => {
    const value = nodeAt(node, key)
    return value ? usesIn(value, `${path}.${key}`, findings) : []
  })
  const conditions = conditionsIn({ node, path }).flatMap(({ node: condition, path: at }) => {
    const name = scalarAt(condition, 'variable')
    return name
      ? [{ name: variableIn(String(name.value)), node: name, path: `${at}.variable` }]
      : []
  })
  const uses = [...usesInMessages(texts), ...own, ...conditions]
  if (uses.length > VARIABLES_PER_STEP_MAX) {
    findings.add('TOO_MANY_VARIABLES', node, path, { max: VARIABLES_PER_STEP_MAX })
  }
  return uses
}

const usesOfPeople = (people: MapNode | null, findings: Findings): Use[] =>
  ['source', 'target'].flatMap((key) => {
    const value = nodeAt(people, key)
    return value ? usesIn(value, `people.${key}`, findings) : []
  })

function usesIn(root: Node, rootPath: string, findings: Findings): Use[] {
  const uses: Use[] = []

  function read(value: Node, valuePath: string): void {
    if (value.kind === 'list') {
      for (const [index, item] of value.items.entries()) read(item, `${valuePath}[${index}]`)
    } else if (value.kind === 'map') {
      for (const { key, keySpan, value: inner } of value.entries.values()) {
        if (key.includes('{{')) findings.add('TEMPLATE_IN_KEY', keySpan, `${valuePath}.${key}`)
        read(inner, `${valuePath}.${key}`)
      }
    } else if (typeof value.value === 'string') readText(value, value.value, valuePath)
  }

  function readText(scalar: ScalarNode, text: string, textPath: string): void {
    if (!text.includes('{{') && !text.includes('}}')) return
    const { parts, faults } = scanTemplate(text)
    for (const { fault, text: piece } of faults) {
      findings.add('TEMPLATE_SYNTAX', scalar, textPath, { piece, reason: REASONS[fault] })
    }
    if (faults.length === 0 && hasStrayBraces(parts)) findings.add('STRAY_BRACES', scalar, textPath)
    for (const part of parts) {
      if (typeof part === 'object' && !isSecretName(part.name))
        uses.push({ name: variableIn(part.name), node: scalar, path: textPath })
    }
  }

  read(root, rootPath)
  return uses
}

/** Those of the messages; their faults are reported once, and not for each step that sends them (message-rules.ts). */
const usesInMessages = (texts: StepOutline['texts']): Use[] =>
  texts.flatMap(({ node, text, path, isCorrection }) => {
    const known: readonly string[] = isCorrection
      ? [...START_VARIABLES, ...FORMER_VARIABLES]
      : START_VARIABLES
    return scanTemplate(text).parts.flatMap((part) =>
      typeof part !== 'object' || isSecretName(part.name) || known.includes(foldKey(part.name))
        ? []
        : [{ name: part.name, node, path }],
    )
  })

export const REASONS: Record<TemplateFault, string> = {
  unclosed: 'is not closed with }}',
  empty: 'has no name',
  'brace-in-name': 'has a brace in its name or is not closed with }}',
}

/** True when a `}}` closes nothing: `{Name}}`. JSON text with balanced braces is fine. */
function hasStrayBraces(parts: ReturnType<typeof scanTemplate>['parts']): boolean {
  let open = 0
  for (const part of parts) {
    if (typeof part !== 'string') continue
    for (let at = 0; at < part.length; at++) {
      if (part[at] === '{') open++
      else if (part[at] === '}' && --open < 0) return true
    }
  }
  return false
}

// --- Who provides what ---------------------------------------------------------------------------

const isBatchVariable = (name: string): boolean =>
  (BATCH_VARIABLES as readonly string[]).includes(foldKey(name))

const isBefore = (outputs: Outputs, name: string, index: number): boolean =>
  (outputs.get(foldKey(name))?.index ?? Number.POSITIVE_INFINITY) < index

const namesBefore = (outputs: Outputs, index: number): string[] =>
  Array.from(outputs.values())
    .filter((provider) => provider.index < index)
    .map(({ name }) => name)

function checkInitUses(
  uses: readonly Use[],
  index: number,
  place: string,
  check: VariableCheck,
): void {
  for (const { name, node, path } of uses) {
    if (isBatchVariable(name) || isBefore(check.init, name, index)) continue
    check.findings.add('MEMBER_DATA_IN_INIT', node, path, () => {
      const known = [...BATCH_VARIABLES, ...namesBefore(check.init, index)]
      return { name, place, hint: hintFor(name, known, 'Known here') }
    })
  }
}

function checkPhaseUses(
  uses: readonly Use[],
  index: number,
  place: string,
  check: VariableCheck,
): void {
  const { columns, findings, init, phases } = check
  if (!columns) return
  for (const { name, node, path } of uses) {
    if (isBatchVariable(name) || columns.has(foldKey(name)) || init.has(foldKey(name))) continue
    if (isBefore(phases, name, index) || isKnownProblem(check, path, name)) continue
    findings.add('UNKNOWN_VARIABLE', node, path, () => {
      const provider = phases.get(foldKey(name))
      if (provider)
        return { name, place, hint: `It comes from ${provider.place}, which runs later.` }
      const known = [
        ...columns.values(),
        ...namesBefore(init, AFTER_ALL),
        ...namesBefore(phases, index),
        ...BATCH_VARIABLES,
      ]
      return { name, place, hint: hintFor(name, known, 'Known here') }
    })
  }
}

function isKnownProblem({ reported }: VariableCheck, path: string, name: string): boolean {
  const use = `${path} ${name}`
  if (path.startsWith('messages.') && reported.has(use)) return true
  reported.add(use)
  return false
}

const AFTER_ALL = Number.POSITIVE_INFINITY

/** A member can leave at any time, so outputs of phase steps may be missing in removal steps. */
function checkRemoval(steps: readonly StepOutline[], check: VariableCheck): void {
  const { columns, findings, init, phases } = check
  for (const [at, uses] of [...usesInSequence(steps, findings)].entries()) {
    checkPhaseUses(uses, AFTER_ALL, 'here', check)
    const asked = conditionsIn(steps[at]!).flatMap(({ node }) =>
      scalarAt(node, 'present')?.value === true ? foldKey(textAt(node, 'variable') ?? '') : [],
    )
    for (const { name, node, path } of uses) {
      const provider = phases.get(foldKey(name))
      if (!provider || columns?.has(foldKey(name)) || init.has(foldKey(name))) continue
      if (asked.includes(foldKey(name))) continue
      findings.add('VARIABLE_NOT_ALWAYS_SET', node, path, { name, provider: provider.place })
    }
  }
}

/** For each rollback, by lower-case name, the first step in running order that uses it. */
function firstUsers(steps: readonly StepOutline[]): Map<string, { index: number; name: string }> {
  const users = new Map<string, { index: number; name: string }>()
  for (const [index, { node, name }] of steps.entries()) {
    const rollback = textAt(node, 'on_failure')?.toLowerCase()
    if (rollback !== undefined && !users.has(rollback)) users.set(rollback, { index, name })
  }
  return users
}

/** Whatever is set at the earliest use is set at every later one. */
function checkRollback(
  { entry, steps }: RollbackOutline,
  initUsers: ReturnType<typeof firstUsers>,
  phaseUsers: ReturnType<typeof firstUsers>,
  check: VariableCheck,
): void {
  const initUser = initUsers.get(entry.key.toLowerCase())
  const phaseUser = phaseUsers.get(entry.key.toLowerCase())
  for (const uses of usesInSequence(steps, check.findings)) {
    if (initUser) {
      checkInitUses(uses, initUser.index, `when init step "${initUser.name}" fails`, check)
    }
    if (phaseUser) {
      checkPhaseUses(uses, phaseUser.index, `when step "${phaseUser.name}" fails`, check)
    }
    if (!initUser && !phaseUser) checkPhaseUses(uses, AFTER_ALL, 'here', check)
  }
}

/** The uses of each step in a rollback or removal, minus outputs of its earlier steps. */
function* usesInSequence(steps: readonly StepOutline[], findings: Findings): Generator<Use[]> {
  const provided = new Set<string>()
  for (const step of steps) {
    yield usesOf(step, findings).filter(({ name }) => !provided.has(foldKey(name)))
    for (const { key } of entriesAt(step.node, 'output_params')) provided.add(foldKey(key))
  }
}

// --- Outputs that hide something -----------------------------------------------------------------

function checkOutputs(
  { dataSource, init, phases, removal, rollbacks }: Outline,
  check: VariableCheck,
): void {
  const columns = new Set([
    ...(check.columns?.keys() ?? []),
    ...columnsNamedIn(dataSource).map(foldKey),
  ])
  const memberSteps = [...phases, ...rollbacks].flatMap(({ steps }) => steps)
  for (const { node, path } of [...init, ...memberSteps, ...removal]) {
    const isInit = path.startsWith('init[')
    for (const { key: name, keySpan } of entriesAt(node, 'output_params')) {
      const outputPath = `${path}.output_params.${name}`
      const other = columns.has(foldKey(name))
        ? 'column'
        : !isInit && check.init.has(foldKey(name))
          ? 'init output'
          : ''
      if (isBuiltIn(name)) check.findings.add('RESERVED_NAME', keySpan, outputPath, { name })
      else if (other) check.findings.add('SHADOWED_VARIABLE', keySpan, outputPath, { name, other })
    }
  }
}

/** Columns named elsewhere in the data source, declared or not. */
const columnsNamedIn = (source: MapNode | null): string[] => [
  ...['primary_key', 'batch_time_column'].flatMap((key) => textAt(source, key) ?? []),
  ...mapsOf(nodeAt(source, 'multi_valued_columns'), '').flatMap(
    ({ node }) => textAt(node, 'name') ?? [],
  ),
]
