// The page: weights as 16-bit numbers in base64, and a script that draws them on canvases.
#include <algorithm>
#include <cmath>
#include <iomanip>

#include "gradus/base/error.h"
#include "gradus/engine/strided.h"
#include "gradus/examples/support/plot/attention_map.h"
#include "gradus/examples/support/plot/label.h"
#include "gradus/io/text.h"
#include "gradus/ops/members.h"

namespace gradus::plot {
namespace {

constexpr const char* kStyle = R"(<style>
body { font: 14px/1.4 system-ui, "DejaVu Sans", sans-serif; margin: 1.5em }
body { color: #222; background: #fff }
h1 { font-size: 1.2em } .all { display: flex; gap: 2em; align-items: flex-start; flex-wrap: wrap }
table { border-collapse: collapse }
th { font-weight: 500; text-align: right; padding-right: .6em; color: #666 }
td { padding: 2px } td canvas { width: 72px; height: 72px; border: 2px solid #ddd }
td canvas { cursor: pointer; image-rendering: pixelated }
td canvas.chosen { border-color: #d55e00 }
#big { cursor: crosshair } #told { min-height: 1.4em; font-variant-numeric: tabular-nums }
</style>
)";

// L: layers {name, heads: [{largest, data}]}, Q and K: labels, all set before. Colours as in SVG.
constexpr const char* kScript = R"(<script>
const A = [[255,255,255],[158,202,225],[49,130,189],[8,48,107]];
function colour(x) {
  const y = 3 * x, k = Math.min(2, Math.floor(y)), f = y - k;
  return A[k].map((c, i) => Math.round(c + f * (A[k + 1][i] - c)));
}
function weights(head) {
  if (!head.w) {
    const b = atob(head.data);
    head.w = Float64Array.from({length: b.length / 2},
      (_, i) => (b.charCodeAt(2 * i) * 256 + b.charCodeAt(2 * i + 1)) / 65535 * head.largest);
  }
  return head.w;
}
function pixels(head) {
  const c = document.createElement('canvas'); c.width = K.length; c.height = Q.length;
  const g = c.getContext('2d'), p = g.createImageData(K.length, Q.length), w = weights(head);
  for (let i = 0; i < w.length; ++i)
    p.data.set([...colour(head.largest > 0 ? w[i] / head.largest : 0), 255], 4 * i);
  g.putImageData(p, 0, 0);
  return c;
}
const big = document.getElementById('big'), told = document.getElementById('told');
const heading = document.getElementById('name');
let now = null;
const wide = n => Math.max(...n.map(s => [...s].reduce((t, c) => t + (c > '\u2e7f' ? 2 : 1), 0)));
const cell = Math.max(2, Math.min(26, 560 / Math.max(Q.length, K.length)));
const left = 7 * wide(Q) + 14, top_ = 7 * wide(K) + 14;
function draw(row = -1, column = -1) {
  const g = big.getContext('2d'), r = window.devicePixelRatio || 1;
  big.style.width = left + K.length * cell + 10 + 'px';
  big.style.height = top_ + Q.length * cell + 10 + 'px';
  big.width = parseFloat(big.style.width) * r; big.height = parseFloat(big.style.height) * r;
  g.scale(r, r); g.imageSmoothingEnabled = false;
  g.fillStyle = '#fff'; g.fillRect(0, 0, big.width, big.height);
  g.drawImage(pixels(now), left, top_, K.length * cell, Q.length * cell);
  g.strokeStyle = '#999'; g.strokeRect(left, top_, K.length * cell, Q.length * cell);
  g.font = '11px system-ui, sans-serif';
  const step = Math.ceil(11 / cell);
  const write = (list, chosen, turned) => list.forEach((s, i) => {
    if (i % step && i !== chosen) return;
    g.save(); g.fillStyle = i === chosen ? '#d55e00' : '#333';
    if (turned) { g.translate(left + (i + .5) * cell + 4, top_ - 5); g.rotate(-Math.PI / 2); }
    else { g.textAlign = 'right'; g.translate(left - 5, top_ + (i + .5) * cell + 4); }
    g.fillText(s, 0, 0); g.restore();
  });
  write(Q, row, false); write(K, column, true);
  g.strokeStyle = '#d55e00';
  if (row >= 0) g.strokeRect(left + column * cell, top_ + row * cell, cell, cell);
}
big.onmousemove = e => {
  const i = Math.floor((e.offsetY - top_) / cell), j = Math.floor((e.offsetX - left) / cell);
  const inside = i >= 0 && j >= 0 && i < Q.length && j < K.length;
  told.textContent = inside ?
    `query ${i} "${Q[i]}" looks at key ${j} "${K[j]}": ` +
    weights(now)[i * K.length + j].toFixed(4) : '';
  draw(inside ? i : -1, inside ? j : -1);
};
document.getElementById('save').onclick = () => {
  draw();
  big.toBlob(picture => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(picture); link.download = now.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
};
function choose(layer, head, canvas) {
  now = layer.heads[head];
  now.file = `${layer.name} head ${head}.png`.replace(/[^\w.]+/g, '_');
  heading.textContent =
    `${layer.name}, head ${head}; dark blue is ${now.largest.toFixed(3)}, white is 0`;
  document.querySelectorAll('td canvas').forEach(c => c.classList.toggle('chosen', c === canvas));
  draw();
}
const table = document.getElementById('heads');
for (const layer of L) {
  const row = table.insertRow(), th = document.createElement('th');
  th.textContent = layer.name; row.append(th);
  layer.heads.forEach((head, h) => {
    const c = row.insertCell().appendChild(pixels(head));
    c.title = `${layer.name}, head ${h}`; c.onclick = () => choose(layer, h, c);
    if (!now) choose(layer, h, c);
  });
}
</script>
)";

/// A label as a JavaScript string that ends no script element: < is written as an escape.
std::string quoted(const std::string& words) {
  std::string out = "\"";
  for (const char c : io::replace_invalid_utf8(words)) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '<')
      out += "\\u003c";
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out + "\"";
}

std::string list_of(const std::vector<std::string>& tokens) {
  std::string out;
  for (const std::string& each : tokens) out += (out.empty() ? "" : ", ") + quoted(label(each));
  return "[" + out + "]";
}

/// {largest, data}: big-endian 16-bit parts of the largest weight.
std::string head_text(const AttentionMap& map) {
  check(map);
  const std::vector<double> weights = kernel::convert(map.weights, Dtype::f64).to_vector<double>();
  const double largest = *std::max_element(weights.begin(), weights.end());
  std::string bytes;
  for (const double w : weights) {
    const auto part = static_cast<unsigned>(largest > 0 ? std::lround(w / largest * 65535) : 0);
    bytes += {static_cast<char>(part >> 8), static_cast<char>(part & 0xFFu)};
  }
  return str_cat("{largest: ", std::setprecision(9), largest, ", data: \"", base64(bytes), "\"}");
}

}  // namespace

std::string attention_page(const std::string& title, const std::vector<AttentionLayer>& layers,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys, std::int64_t example) {
  require(!layers.empty(), "attention page: no layers");
  std::string data;
  for (const AttentionLayer& layer : layers) {
    data += "{name: " + quoted(layer.name) + ", heads: [\n";
    require<ShapeError>(layer.weights.defined() && layer.weights.rank() >= 3,
                        "attention page: layer ", layer.name, ": wants weights [H, T, S] or ",
                        "[B, H, T, S], not ", layer.weights.shape());
    for (std::int64_t head = 0; head < layer.weights.size(-3); ++head)
      data += head_text(head_of(layer, head, queries, keys, example)) + ",\n";
    data += "]},\n";
  }
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
         io::escape_xml(title) + "</title>\n" + kStyle + "</head><body>\n<h1>" +
         io::escape_xml(title) +
         "</h1>\n<div class=\"all\"><table id=\"heads\"></table>\n<div><div id=\"name\"></div>"
         "<div id=\"told\"></div><canvas id=\"big\"></canvas><div><button id=\"save\">Save as "
         "PNG</button></div>"
         "</div></div>\n<script>\nconst Q = " +
         list_of(queries) + ", K = " + list_of(keys) + ";\nconst L = [\n" + data +
         "];\n</script>\n" + kScript + "</body></html>\n";
}

}  // namespace gradus::plot
