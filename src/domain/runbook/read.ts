// Reads a runbook: YAML in, a Runbook or all its problems with line and column out. Never throws for an author's mistake; takes
// linear time in the file, which has at most 1 MB.
import { buildRunbook } from './build.ts'
import { type CatalogueOptions, checkCatalogues } from './catalogues.ts'
import { readDocument } from './document.ts'
import { factsFrom } from './function-facts.ts'
import { lintRunbook } from './lint/lint.ts'
import type { Runbook } from './model.ts'
import { outlineOf } from './outline.ts'
import type { IgnoredProblem, Mend, RunbookProblem } from './problems.ts'
import { checkRules } from './rules.ts'
import { checkStructure } from './structure.ts'
import { checkVariables } from './variables.ts'

export type { FunctionCatalogue } from './catalogues.ts'
export type {
  DataSource,
  Gate,
  Ramp,
  RetryPolicyDefinition,
  Runbook,
  RunbookPhase,
  RunbookStep,
  Safeguards,
} from './model.ts'
export type { IgnoredProblem, RunbookProblem } from './problems.ts'

export interface ReadRunbookOptions extends Partial<CatalogueOptions> {
  /** The columns of a member file at hand; they count instead of those that the runbook declares. */
  readonly columns?: readonly string[]
  /** Missing: functions and parameters are not checked, as for a text that is already published. */
  readonly catalogues?: CatalogueOptions['catalogues']
  /** Also judge a valid runbook by the migration rules. */
  readonly isLinted?: boolean
}

/** The runbook is null on any error; warnings leave it usable. Problems are in file order. */
export function readRunbook(
  source: Uint8Array | string,
  options: ReadRunbookOptions = {},
): {
  runbook: Runbook | null
  problems: RunbookProblem[]
  ignored: readonly IgnoredProblem[]
  mends: readonly Mend[]
} {
  const { root, findings, text } = readDocument(source)
  if (root) checkStructure(root, findings)
  if (root?.kind === 'map') {
    const outline = outlineOf(root)
    checkRules(root, outline, findings, options.columns)
    checkVariables(outline, findings, options.columns)
    const { catalogues, allowMissingParameters = false } = options
    if (catalogues) checkCatalogues(outline, findings, { catalogues, allowMissingParameters })
  }
  const built = root?.kind === 'map' && !findings.hasErrors ? buildRunbook(root) : null
  if (built && root?.kind === 'map' && options.isLinted)
    lintRunbook(
      text,
      { root, outline: outlineOf(root), runbook: built },
      factsFrom(options.catalogues ?? []),
      findings,
    )
  // More warnings than are shown are an error, too.
  const runbook = findings.hasErrors ? null : built
  const problems = findings.problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
  return { runbook, problems, ignored: findings.ignored, mends: findings.mends }
}
