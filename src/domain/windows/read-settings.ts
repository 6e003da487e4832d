// Reads the file of the system's change windows: the same keys as `windows` of a runbook, checked in the same way.
import { windowsOf } from '../runbook/build.ts'
import { readDocument } from '../runbook/document.ts'
import type { RunbookProblem } from '../runbook/problems.ts'
import { checkWindows } from '../runbook/rules.ts'
import { WINDOWS } from '../runbook/shape.ts'
import { checkStructure } from '../runbook/structure.ts'
import type { ChangeWindows } from './change-windows.ts'

export type WindowsOrProblems =
  | { readonly windows: ChangeWindows }
  | { readonly problems: readonly RunbookProblem[] }

export function readSystemWindows(source: Uint8Array | string): WindowsOrProblems {
  const { root, findings } = readDocument(source)
  if (root) checkStructure(root, findings, WINDOWS)
  if (root?.kind === 'map') checkWindows(root, '', findings)
  if (root?.kind === 'map' && !findings.hasErrors) return { windows: windowsOf(root) }
  return { problems: findings.problems }
}
