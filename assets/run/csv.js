/**
 * Rows as CSV (RFC 4180). Pure.
 *
 * @typedef {string|number|boolean|null|undefined} CsvCell
 */

/** @param {CsvCell} value */
const cell = (value) => (typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : String(value ?? ""));

/**
 * Texts in quotes, numbers with all digits, nothing for what is not there.
 * @param {string[]} head
 * @param {CsvCell[][]} rows
 */
export const csvText = (head, rows) =>
  `${[head.join(","), ...rows.map((row) => row.map(cell).join(","))].join("\r\n")}\r\n`;
