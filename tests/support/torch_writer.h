// Writes what torch.save writes, for tests: the sound files and, piece by piece, the broken ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/safetensors_writer.h"

namespace sti {

/// A tensor as a pickle describes it: a view of a storage.
struct TensorToPickle {
  std::string name;
  std::string storage_class;  ///< "HalfStorage", or anything else a test wants
  std::string key;            ///< of its storage
  int64_t elements = 0;       ///< of its storage
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

/// Opcodes of a pickle of protocol 2, without its first two bytes and its last.
namespace pickle {
std::string Text(std::string_view text);
std::string Number(int64_t number);
std::string Global(std::string_view module, std::string_view name);
std::string Tuple(const std::vector<int64_t>& numbers);
std::string Tensor(const TensorToPickle& tensor, bool stream = false);
}  // namespace pickle

/// Returns `opcodes` as a whole pickle.
std::string WholePickle(std::string_view opcodes);

/// Returns the pickle of an OrderedDict of these tensors, with `_metadata` as PyTorch has it. That
/// of a stream names views of storages, of which there are none.
std::string PickleOf(const std::vector<TensorToPickle>& tensors, bool stream = false);

/// Returns the tensors as PickleOf takes them, the i-th with storage "i" for its own.
std::vector<TensorToPickle> Described(const std::vector<TensorToWrite>& tensors);

/// A member of an archive, by its name.
using ZipMember = std::pair<std::string, std::string>;

/// Returns an archive of stored members, with an end of 64 bits if `zip64`.
std::string ZipBytes(const std::vector<ZipMember>& members, bool zip64 = false);

/// Returns the members of a file as torch.save writes it since PyTorch 1.6.
std::vector<ZipMember> TorchMembers(const std::vector<TensorToWrite>& tensors);

/// Returns the stream that torch.save wrote before: these pickles, of which the fourth has the keys
/// of the storages, and what follows it.
std::string StreamBytes(std::string_view version, std::string_view machine, std::string_view dict,
                        std::string_view keys, std::string_view storages);
std::string TorchStream(const std::vector<TensorToWrite>& tensors);

}  // namespace sti
