// Reads a runbook: YAML in, a Runbook or all its problems with line and column out. Never throws for an author's mistake; takes
// linear time in the file, which has at most 1 MB.
import { buildRunbook } from './build.ts'
import { checkCatalogues, type FunctionCatalogue } from './catalogues.ts'
import { readDocument } from './document.ts'
import type { Runbook } from './model.ts'
import { outlineOf } from './outline.ts'
import type { RunbookProblem } from './problems.ts'
import { checkRules } from './rules.ts'
import { checkStructure } from './structure.ts'
import { checkVariables } from './variables.ts'

export type { FunctionCatalogue } from './catalogues.ts'
export type {
  DataSource,
  RetryPolicyDefinition,
  Runbook,
  RunbookPhase,
  RunbookStep,
  Safeguards,
} from './model.ts'
export type { RunbookProblem } from './problems.ts'

export interface ReadRunbookOptions {
  /** Columns of a member file; they replace those declared in the runbook. */
  readonly columns?: readonly string[]
  /** Functions of known workers; steps that fit none of them get a warning. */
  readonly catalogues?: readonly FunctionCatalogue[]
}

/** The runbook is null on any error; warnings leave it usable. Problems are in file order. */
export function readRunbook(
  source: Uint8Array | string,
  options: ReadRunbookOptions = {},
): { runbook: Runbook | null; problems: RunbookProblem[] } {
  const { root, findings } = readDocument(source)
  if (root) checkStructure(root, findings)
  if (root?.kind === 'map') {
    const outline = outlineOf(root)
    checkRules(root, outline, findings, options.columns)
    checkVariables(outline, findings, options.columns)
    checkCatalogues(outline, findings, options.catalogues ?? [])
  }
  const problems = findings.problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
  const usable = root?.kind === 'map' && !findings.hasErrors
  return { runbook: usable ? buildRunbook(root) : null, problems }
}
