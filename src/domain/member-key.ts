// How keys are compared (R33): trimmed and without case. Everything that matches people across ticks and batches goes by this.

export const foldKey = (key: string): string => key.trim().toLowerCase()
