/**
 * Two small element builders. Must not know anything of this product. Strings become text nodes, never markup.
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element: `html("p", {class: "cv-note"}, "text", otherNode)`. */
export function html(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** Sets text only where it changed, so that an unchanged panel costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A push button with a text label. */
export function button(label, className, attributes = {}) {
  return html("button", { type: "button", class: `cv-button ${className}`, ...attributes }, label);
}
