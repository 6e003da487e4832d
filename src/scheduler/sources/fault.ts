// Failures of data sources, the same for all types. A source throws a fault with the reason of its driver or server; source.ts
// turns it into a coded error that names the source and none of its secrets.

export type FaultKind =
  | 'not_configured'
  | 'unreachable'
  | 'sign_in'
  | 'refused'
  | 'truncated'
  | 'dropped'
  | 'columns'
  | 'value'
  | 'file'
  | 'missing'
  | 'changing'

export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  readonly kind: FaultKind

  constructor(kind: FaultKind, reason: string, cause?: unknown) {
    super(reason, { cause })
    this.kind = kind
  }
}
